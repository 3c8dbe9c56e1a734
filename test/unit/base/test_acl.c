/* Access control lists. */
#include "test.h"

#include <string.h>

#include "base/acl.h"
#include "base/mem.h"

/* promise: S75 */
static void an_acl_names_users_and_groups(void **state)
{
	static const struct {
		const char *acl, *user, *groups;
		bool names;
	} rows[] = {
		{"alice", "alice", "", true},
		{"alice", "bob", "", false},
		{"alice", "Alice", "", false},
		{"alice", "ali", "", false},
		{"alice,bob", "bob", "", true},
		{"alice,bob ops", "bob", "", true},
		{"alice ops,ml-team", "bob", "staff,ml-team", true},
		{"alice ops,ml-team", "bob", "staff", false},
		/* A user is no group, and a group is no user. */
		{"ops", "bob", "ops", false},
		{"alice ops", "ops", "", false},
		{" ops", "bob", "ops", true},
		{" ops", "ops", "", false},
		{"*", "bob", "", true},
		{" * ", "bob", "", true},
		{"*", "", "", false},
		{"*", NULL, "", false},
		{"alice,*", "bob", "", false},
		{"**", "bob", "", false},
		{" ", "bob", "ops", false},
		{"", "bob", "ops", false},
		{" ", "", "", false},
		{",", "", "", false},
		{NULL, "bob", "ops", false},
	};

	for (size_t i = 0; i < array_length(rows); i++) {
		struct acl_user user = {.name = rows[i].user};
		str_split(&user.groups, rows[i].groups, ',');
		if (acl_names(rows[i].acl, &user) != rows[i].names)
			fail_msg("\"%s\" and %s of %s", rows[i].acl, rows[i].user, rows[i].groups);
		str_list_finish(&user.groups);
	}
}

/* promise: S75 */
static void the_owner_and_administrators_may_in_any_case(void **state)
{
	static const struct {
		struct acl_rule rule;
		const char *user;
		bool allows;
	} rows[] = {
		{{"alice", NULL, NULL}, "alice", true},
		{{"alice", NULL, NULL}, "bob", false},
		{{"alice", " ", " "}, "alice", true},
		{{"alice", "bob", NULL}, "bob", true},
		{{"alice", "bob", "root ops"}, "root", true},
		{{"alice", "bob", "root ops"}, "carol", false},
		{{"alice", "bob", "*"}, "carol", true},
		/* Nobody knows whose it is. */
		{{NULL, NULL, NULL}, NULL, false},
		{{"", NULL, NULL}, "", false},
		{{"alice", "*", "*"}, "", false},
	};

	for (size_t i = 0; i < array_length(rows); i++) {
		struct acl_user user = {.name = rows[i].user};
		if (acl_allows(&rows[i].rule, &user) != rows[i].allows)
			fail_msg("row %zu", i);
	}
	struct acl_user member = {.name = "carol"};
	str_list_add(&member.groups, "ops");
	assert_true(acl_allows(&(struct acl_rule){"alice", NULL, "root ops"}, &member));
	str_list_finish(&member.groups);
}

static void an_acl_that_means_something_else_is_refused(void **state)
{
	static const char *const good[] = {"",	   " ", "alice",       "alice,bob", "alice ops,ml",
					   " ops", "*", "al.ice@REALM"};
	static const char *const bad[] = {"alice, bob", "alice bob ops", "alice,*",
					  "* ops",	"alice  ops",	 "alice\tops"};
	struct err err = {0};

	for (size_t i = 0; i < array_length(good); i++)
		assert_int_equal(acl_check(good[i], NULL), 0);
	for (size_t i = 0; i < array_length(bad); i++)
		assert_int_equal(acl_check(bad[i], NULL), -1);
	assert_int_equal(acl_check("alice, bob", &err), -1);
	assert_non_null(strstr(err_message(&err), "write \"alice,bob\" for two users"));
	err_finish(&err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_acl_names_users_and_groups),
		cmocka_unit_test(the_owner_and_administrators_may_in_any_case),
		cmocka_unit_test(an_acl_that_means_something_else_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
