/* The promises of src/sweep/space.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sweep/space.h"

static void expect_values(const char *text, const char *wanted)
{
	struct sweep_space space = {0};

	assert_int_equal(sweep_space_parse(text, &space, NULL), 0);
	assert_int_equal(space.count, 1);
	char *values cleanup_free = str_list_join(&space.items[0].values, " ");
	assert_string_equal(values, wanted);
	sweep_space_finish(&space);
}

static void expect_refused(const char *text, const char *words)
{
	struct sweep_space space = {0};
	struct err err cleanup_err = {0};

	assert_int_equal(sweep_space_parse(text, &space, &err), -1);
	if (!strstr(err_message(&err), words))
		fail_msg("\"%s\" lacks \"%s\"", err_message(&err), words);
	sweep_space_finish(&space);
}

static void test_lists_and_ranges_have_values(void **state)
{
	(void)state;
	expect_values("lr=0.1,0.01", "0.1 0.01");
	expect_values(" optimizer=adam,sgd\n", "adam sgd");
	expect_values("layers=1..4", "1 2 3 4");
	expect_values("odd=1..9:2", "1 3 5 7 9");
	expect_values("part=0..1:0.25", "0 0.25 0.5 0.75 1");
	expect_values("tenth=0..0.3:0.1", "0 0.1 0.2 0.3");
	expect_values("batch=32..512:x2", "32 64 128 256 512");
	expect_values("lr=1e-4..0.1:x10", "0.0001 0.001 0.01 0.1");
	expect_values("n=262144..2097152:x2", "262144 524288 1048576 2097152");
	expect_values("m=1000000..2000000:1000000", "1000000 2000000");
	expect_values("a=1000000..1000002", "1000000 1000001 1000002");
	expect_values("t=1700000000..1700000000.002:0.001",
		      "1700000000 1700000000.001 1700000000.002");
	expect_values("lr=0.12345678..0.22345679:0.1", "0.12345678 0.22345678");
	expect_values("x=-0.3..0.3:0.1", "-0.3 -0.2 -0.1 0 0.1 0.2 0.3");
	expect_values("huge=1e15..2e15:x2", "1e+15 2e+15");
	expect_values("tony.worker.memory=1g,2g", "1g 2g");
	expect_values("data=hdfs://ns/a,s3://b/c", "hdfs://ns/a s3://b/c");
}

static void test_a_flawed_parameter_is_told_with_a_remedy(void **state)
{
	(void)state;
	expect_refused("", "no parameter");
	expect_refused("lr", "write NAME=VALUE");
	expect_refused("9lr=1", "a name that is no word");
	expect_refused("Tony.x=1", "a name that is no word");
	expect_refused("lr=1 lr=2", "given twice");
	expect_refused("lr=1,1", "a value twice");
	expect_refused("lr=a;b", "no plain word");
	expect_refused("lr=1,", "no plain word");
	expect_refused("lr=$(reboot)", "is none of uniform");
	expect_refused("lr=4..2", "is no range");
	expect_refused("lr=1..9:x1", "is no range");
	expect_refused("lr=0..9:x2", "is no range");
	expect_refused("lr=0..1:0", "is no range");
	expect_refused("lr=0..1:0.00001", "more than 10000 values");
	expect_refused("lr=uniform(1)", "is none of uniform");
	expect_refused("lr=normal(0,1)", "is none of uniform");
	expect_refused("lr=uniform(2,1)", "the smaller one first");
	expect_refused("lr=uniform(-1e308,1e308)", "wider than a number");
	expect_refused("lr=loguniform(0,1)", "no logarithm");
	expect_refused("lr=int(0.5,2)", "whole numbers");
}

static void expect_at(const char *text, double part, const char *wanted)
{
	struct sweep_space space = {0};

	assert_int_equal(sweep_space_parse(text, &space, NULL), 0);
	char *value cleanup_free = sweep_parameter_at(&space.items[0], part);
	assert_string_equal(value, wanted);
	sweep_space_finish(&space);
}

static void test_every_part_of_a_parameter_has_a_value(void **state)
{
	const double last = 1 - 0x1p-53;

	(void)state;
	expect_at("x=a,b,c", 0, "a");
	expect_at("x=a,b,c", last, "c");
	expect_at("x=uniform(-1,1)", 0.5, "0");
	expect_at("x=loguniform(1e-4,1)", 0.5, "0.01");
	expect_at("x=int(1,6)", 0, "1");
	expect_at("x=int(1,6)", last, "6");
	expect_at("x=int(-2,2)", 0.5, "0");
}

static void test_a_grid_needs_lists(void **state)
{
	struct sweep_space space = {0};

	(void)state;
	assert_int_equal(sweep_space_parse("a=1..10 b=x,y c=0..1:0.5", &space, NULL), 0);
	assert_int_equal(sweep_space_size(&space), 60);
	sweep_space_finish(&space);
	assert_int_equal(sweep_space_parse("a=1..10 b=uniform(0,1)", &space, NULL), 0);
	assert_int_equal(sweep_space_size(&space), 0);
	sweep_space_finish(&space);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists_and_ranges_have_values),
		cmocka_unit_test(test_a_flawed_parameter_is_told_with_a_remedy),
		cmocka_unit_test(test_every_part_of_a_parameter_has_a_value),
		cmocka_unit_test(test_a_grid_needs_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
