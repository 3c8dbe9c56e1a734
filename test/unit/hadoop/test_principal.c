/* Which server it may be. */
#include "hadoop/principal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/mem.h"

#define KEY "yarn.resourcemanager.principal"

static void test_matches(void **state)
{
	static const struct {
		const char *pattern, *principal;
		bool matches;
	} rows[] = {
		{"*", "rm/a.b@R", true},
		{"rm/*", "rm/a.b@R", true},
		{"rm/*@R", "rm/a.b@S", false},
		{"rm/a?b@R", "rm/a.b@R", true},
		{"rm/[a-c].b@R", "rm/a.b@R", true},
		{"rm/[^a].b@R", "rm/a.b@R", false},
		{"{nn,rm}/*", "rm/a.b@R", true},
		{"{nn,dn}/*", "rm/a.b@R", false},
		{"{rm,}/*", "/a.b@R", true},
		{"rm/{a,{b,c}}.b@R", "rm/c.b@R", true},
		{"rm/{a", "rm/{a", false},
		{"rm/\\*@R", "rm/a@R", false},
		{"rm/\\{a@R", "rm/{a@R", true},
		{"{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", "aaaaaaaaa", false},
		{"", "rm/a.b@R", false},
	};

	for (size_t i = 0; i < array_length(rows); i++)
		if (principal_matches(rows[i].pattern, rows[i].principal) != rows[i].matches)
			fail_msg("%s and %s", rows[i].pattern, rows[i].principal);
}

static void test_choose(void **state)
{
	static const struct {
		const char *name, *pattern, *host, *protocol, *server_id, *chosen;
	} rows[] = {
		{"rm/a.b@R", NULL, "10.0.0.1", "rm", "a.b", "rm/a.b@R"},
		{"rm/a.b", NULL, "10.0.0.1", "rm", "a.b", "rm/a.b"},
		{"rm/_HOST@R", NULL, "A.b", "rm", "a.b", "rm/a.b@R"},
		{"rm/_HOST", NULL, "a.b", "rm", "a.b", "rm/a.b"},
		{"rm/_HOST@R", NULL, "127.0.0.1", "rm", "localhost", "rm/localhost@R"},
		{"rm/_HOST@R", "*", "a.b", "nn", "c.d", "nn/c.d"},
		{"rm/_HOST@R", "nn/*@S", "a.b", "nn", "c.d", "nn/c.d@S"},
		{NULL, "nn/*@*", "a.b", "nn", "c.d", "nn/c.d"},
		{"rm/a.b@R", NULL, "a.b", "nn", "a.b", NULL},
		{"rm/a.b@R", NULL, "a.b", "rm", "a.c", NULL},
		{"rm@R", NULL, "a.b", "rm", "a.b", NULL},
		{"rm/_HOSTS@R", NULL, "a.b", "rm", "a.b", NULL},
		{"rm/_HOST@R", NULL, "a.b", "nn", "a.b", NULL},
		{NULL, NULL, "a.b", "rm", "a.b", NULL},
		/* Texts that would make another principal of it. */
		{"rm/_HOST@R", "*", "a.b", "rm", "a.b@EVIL", NULL},
		{"rm/_HOST@R", "*", "a.b", "rm/x", "a.b", NULL},
		{"rm/_HOST@R", "*", "a.b", "", "a.b", NULL},
		{"rm/_HOST@R", "*", "a.b", "rm", "a\\b", NULL},
	};

	for (size_t i = 0; i < array_length(rows); i++) {
		const struct sasl_peer peer = {KEY, rows[i].name, rows[i].pattern, rows[i].host};
		struct err err cleanup_err = {0};
		char *chosen cleanup_free =
			principal_choose(&peer, rows[i].protocol, rows[i].server_id, &err);
		if (!str_equal(chosen, rows[i].chosen))
			fail_msg("row %zu: %s", i, chosen ? chosen : err_message(&err));
		assert_true(chosen || err.message);
	}
}

static void test_whole_principal(void **state)
{
	const struct sasl_peer peer = {KEY, "rm/_HOST@R", "nn/*@R", "a.b"};
	struct err err cleanup_err = {0};

	assert_int_equal(principal_check(&peer, "nn/c.d@R", &err), 0);
	assert_int_equal(principal_check(&peer, "nn/c.d@S", &err), -1);
	assert_non_null(strstr(err.message, KEY ".pattern"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_matches),
		cmocka_unit_test(test_choose),
		cmocka_unit_test(test_whole_principal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
