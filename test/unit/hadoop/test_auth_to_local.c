/* Names that a cluster gives to the holders of tickets. */
#include "hadoop/auth_to_local.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

/* The rows with a name are as Hadoop 3.4.2's KerberosName has them. */
static void test_names(void **state)
{
	static const struct {
		const char *rules, *principal, *name;
	} rows[] = {
		{"DEFAULT", "alice@R", "alice"},
		{"DEFAULT", "rm/a.b@R", "rm"},
		{"DEFAULT", "alice@OTHER", NULL},
		{"RULE:[1:$1@$0](.*@OTHER)s/@.*// DEFAULT", "alice@OTHER", "alice"},
		{"RULE:[1:$1@$0](.*@OTHER)s/@.*//\nDEFAULT\n", "alice@R", "alice"},
		{"\n\t RULE:[2:$1@$0](rm@.*R)s/.*/yarn/\n DEFAULT", "rm/a.b@R", "yarn"},
		{"RULE:[2:$1;$2](^.*;admin$)s/;admin$// DEFAULT", "joe/admin@R", "joe"},
		{"RULE:[1:$1]/L", "ALICE@ANY", "alice"},
		{"RULE:[1:$1@$0](.*@R)s/@.*///L", "ALICE@R", "alice"},
		{"RULE:[1:$1]s/a/b/g", "banana@R", "bbnbnb"},
		{"RULE:[1:$1]s/a/b/", "banana@R", "bbnana"},
		{"RULE:[1:$1]s/(.*)x(.*)/$2$1/", "onextwo@R", "twoone"},
		{"RULE:[1:$1](u\\d+)s/u/user/ DEFAULT", "u12@R", "user12"},
		{"RULE:[1:$1](u\\d+)s/u/user/ DEFAULT", "ux@R", "ux"},
		{"RULE:[1:$1]s/^//g", "ab@R", "ab"},
		/* A part of it is not all of it. */
		{"RULE:[1:$1@$0](@R)s/.*/x/", "alice@R", NULL},
		/* Not simple. */
		{"RULE:[1:$1@$0]", "alice@R", NULL},
		{"RULE:[1:$1]s/alice//", "alice@R", NULL},
		/* No rules. */
		{"", "alice@R", NULL},
		{"RULE", "alice@R", NULL},
		{"RULE:[", "alice@R", NULL},
		{"RULE:[1:", "alice@R", NULL},
		{"RULE:[x:$1]", "alice@R", NULL},
		{"RULE:[1:$2]", "alice@R", NULL},
		{"RULE:[1:$]", "alice@R", NULL},
		{"RULE:[1:$1](", "alice@R", NULL},
		{"RULE:[1:$1](*[)", "alice@R", NULL},
		{"RULE:[1:$1]s/a", "alice@R", NULL},
		{"RULE:[1:$1]s/[/x/", "alice@R", NULL},
		{"DEFAULTS", "alice@R", NULL},
	};

	for (size_t i = 0; i < array_length(rows); i++) {
		struct err err cleanup_err = {0};
		char *name cleanup_free =
			auth_to_local(rows[i].rules, "R", rows[i].principal, &err);
		if (!str_equal(name, rows[i].name))
			fail_msg("%s: %s", rows[i].rules, name ? name : err_message(&err));
		assert_true(name || strstr(err_message(&err), "hadoop.security.auth_to_local"));
	}
}

static void the_default_realm_is_told(void **state)
{
	static const char *const realms[][2] = {
		{"R", "is R;"}, {"", "is not set;"}, {NULL, "is not set;"}};

	for (size_t i = 0; i < array_length(realms); i++) {
		struct err err cleanup_err = {0};
		assert_null(auth_to_local("DEFAULT", realms[i][0], "alice@OTHER", &err));
		assert_non_null(strstr(err_message(&err), realms[i][1]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_names),
					   cmocka_unit_test(the_default_realm_is_told)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
