/* Commands of people: a reason is printable, a size within its limits. */
#include "../base/test.h"

#include "am/command.h"
#include "base/mem.h"

static void test_kill(void **state)
{
	struct str text cleanup_str = {0};
	char *by, *reason = NULL;

	assert_int_equal(command_parse_kill(&by, &reason, "", 0, NULL), 0);
	assert_null(reason);
	assert_int_equal(command_parse_kill(&by, &reason, "{}", 2, NULL), 0);
	assert_null(reason);
	assert_null(by);
	str_append(&text, "{\"by\":\"sweep\\u001b1\",\"reason\":\"a\\u001b[2Jb\"}");
	assert_int_equal(command_parse_kill(&by, &reason, text.text, text.length, NULL), 0);
	assert_string_equal(by, "sweep?1");
	assert_string_equal(reason, "a?[2Jb");
	free(by);
	free(reason);
	str_truncate(&text, 0);
	str_append_format(&text, "{\"reason\":\"%01025d\"}", 0);
	assert_int_equal(command_parse_kill(&by, &reason, text.text, text.length, NULL), -1);
	assert_null(reason);
}

static void test_scale(void **state)
{
	static const char *const bad[] = {
		"",
		"[]",
		"{}",
		"{\"worker\":1}",
		"{\"worker\":10}",
		"{\"worker\":4.0}",
		"{\"worker\":\"4\"}",
		"{\"worker\":4,\"worker\":5}",
		"{\"worker\":4,\"ps\":2}",
		"{\"worker\":4,\"chief\":1}",
	};
	static const char good[] = "{\"reader\":1,\"worker\":9}";
	struct job_type types[] = {
		{.name = (char[]){"worker"},
		 .instances = 4,
		 .min_instances = 2,
		 .max_instances = 9},
		{.name = (char[]){"ps"}, .instances = 2},
		{.name = (char[]){"reader"},
		 .instances = 1,
		 .min_instances = 1,
		 .max_instances = 2},
		{.name = (char[]){"more"}, .instances = 1, .min_instances = 1, .max_instances = 2},
	};
	const struct job job = {.types = types, .type_count = array_length(types)};
	int wanted[array_length(types)];

	assert_int_equal(command_parse_scale(&job, wanted, good, strlen(good), NULL), 0);
	assert_int_equal(wanted[0], 9);
	assert_int_equal(wanted[1], -1);
	assert_int_equal(wanted[2], 1);
	assert_int_equal(wanted[3], -1);
	for (size_t i = 0; i < array_length(bad); i++) {
		struct err err cleanup_err = {0};
		if (command_parse_scale(&job, wanted, bad[i], strlen(bad[i]), &err) == 0)
			fail_msg("taken: %s", bad[i]);
		assert_int_equal(err.kind, ERR_INPUT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kill),
		cmocka_unit_test(test_scale),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
