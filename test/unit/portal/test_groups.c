/* The groups of users whom a proxy names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/user.h"
#include "portal/groups.h"

static int asked;

static void answer(const char *user, struct str_list *groups)
{
	asked++;
	str_list_add_format(groups, "%s-%d", user, asked);
}

static void expect(struct portal_groups *groups, const char *user, int64_t now_ms,
		   const char *group)
{
	const struct str_list *found = portal_groups_of(groups, user, now_ms);

	assert_int_equal(found->count, 1);
	assert_string_equal(found->items[0], group);
}

static void a_user_is_asked_about_once_in_a_minute(void **state)
{
	struct portal_groups *groups = portal_groups_create(answer);

	asked = 0;
	expect(groups, "alice", 1000, "alice-1");
	expect(groups, "bob", 2000, "bob-2");
	expect(groups, "alice", 1000 + PORTAL_GROUPS_MS - 1, "alice-1");
	expect(groups, "alice", 1000 + PORTAL_GROUPS_MS, "alice-3");
	expect(groups, "bob", 1000 + PORTAL_GROUPS_MS, "bob-2");
	portal_groups_destroy(groups);
}

static void strangers_take_no_memory_without_end(void **state)
{
	struct portal_groups *groups = portal_groups_create(answer);

	asked = 0;
	for (int i = 0; i < PORTAL_GROUPS_USERS_MAX; i++) {
		char *user cleanup_free = mem_printf("user%d", i);
		portal_groups_of(groups, user, 0);
	}
	expect(groups, "user0", 0, "user0-1");
	portal_groups_of(groups, "another", 0);
	portal_groups_of(groups, "user0", 0);
	assert_int_equal(asked, PORTAL_GROUPS_USERS_MAX + 2);
	portal_groups_destroy(groups);
}

static void this_machine_knows_groups(void **state)
{
	struct str_list groups cleanup_str_list = {0}, none cleanup_str_list = {0};

	user_groups("root", &groups);
	assert_true(str_list_has(&groups, "root"));
	user_groups("nobody of this name", &none);
	assert_int_equal(none.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_user_is_asked_about_once_in_a_minute),
		cmocka_unit_test(strangers_take_no_memory_without_end),
		cmocka_unit_test(this_machine_knows_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
