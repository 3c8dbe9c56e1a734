/* The groups of users whom another server names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/user.h"
#include "web/group_cache.h"

static int asked;
static int64_t now;

/* The groups of the n-th who is asked for are called "user-n". */
static void tell(struct group_cache *cache, const char *user, int number)
{
	struct str_list groups cleanup_str_list = {0};

	str_list_add_format(&groups, "%s-%d", user, number);
	group_cache_tell(cache, user, &groups, now);
}

static void answer(void *data, const char *user)
{
	struct group_cache **cache = data;

	tell(*cache, user, ++asked);
}

static void keep_for_later(void *data, const char *user)
{
	asked++;
}

static void expect(struct group_cache *groups, const char *user, int64_t now_ms, const char *group)
{
	now = now_ms;
	const struct str_list *found = group_cache_find(groups, user, now_ms);

	assert_int_equal(found->count, 1);
	assert_string_equal(found->items[0], group);
}

static void a_user_is_asked_about_once_in_a_minute(void **state)
{
	struct group_cache *groups = group_cache_create(answer, &groups);

	asked = 0;
	expect(groups, "alice", 1000, "alice-1");
	expect(groups, "bob", 2000, "bob-2");
	expect(groups, "alice", 1000 + GROUP_CACHE_MS - 1, "alice-1");
	expect(groups, "alice", 1000 + GROUP_CACHE_MS, "alice-3");
	expect(groups, "bob", 1000 + GROUP_CACHE_MS, "bob-2");
	group_cache_destroy(groups);
}

static void strangers_take_no_memory_without_end(void **state)
{
	struct group_cache *groups = group_cache_create(answer, &groups);

	asked = 0;
	for (int i = 0; i < GROUP_CACHE_USERS_MAX; i++) {
		char *user cleanup_free = mem_printf("user%d", i);
		group_cache_find(groups, user, 0);
	}
	expect(groups, "user0", 0, "user0-1");
	group_cache_find(groups, "another", 0);
	group_cache_find(groups, "user0", 0);
	assert_int_equal(asked, GROUP_CACHE_USERS_MAX + 2);
	group_cache_destroy(groups);
}

static void answers_may_come_later(void **state)
{
	struct group_cache *groups = group_cache_create(keep_for_later, NULL);

	asked = 0;
	now = 0;
	assert_null(group_cache_find(groups, "alice", 0));
	assert_null(group_cache_find(groups, "alice", 2 * GROUP_CACHE_MS));
	assert_int_equal(asked, 1);
	tell(groups, "alice", 1);
	tell(groups, "nobody asked for her", 2);
	expect(groups, "alice", 1, "alice-1");
	assert_null(group_cache_find(groups, "alice", 1 + GROUP_CACHE_MS));
	assert_int_equal(asked, 2);
	group_cache_destroy(groups);
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
		cmocka_unit_test(answers_may_come_later),
		cmocka_unit_test(this_machine_knows_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
