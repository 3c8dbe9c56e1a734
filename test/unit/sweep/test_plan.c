/* The promises of src/sweep/plan.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sweep/plan.h"

static void begin(struct sweep_plan *plan, enum sweep_strategy strategy, const char *space)
{
	*plan = (struct sweep_plan){.strategy = strategy, .seed = 7, .trials = 12};
	assert_int_equal(sweep_space_parse(space, &plan->space, NULL), 0);
}

static char *values_of(const struct sweep_plan *plan, int64_t number)
{
	struct str_list values cleanup_str_list = {0};

	sweep_plan_values(plan, number, &values);
	assert_int_equal(values.count, plan->space.count);
	return str_list_join(&values, " ");
}

static void expect(const struct sweep_plan *plan, int64_t number, const char *wanted)
{
	char *values cleanup_free = values_of(plan, number);

	assert_string_equal(values, wanted);
}

static void test_a_grid_has_every_combination_once(void **state)
{
	struct sweep_plan plan;
	struct str_list seen cleanup_str_list = {0};

	(void)state;
	begin(&plan, SWEEP_GRID, "a=1,2,3 b=x,y c=0,1");
	expect(&plan, 0, "1 x 0");
	expect(&plan, 1, "1 x 1");
	expect(&plan, 2, "1 y 0");
	expect(&plan, 11, "3 y 1");
	for (int64_t i = 0; i < 12; i++) {
		char *values = values_of(&plan, i);
		assert_false(str_list_has(&seen, values));
		str_list_take(&seen, values);
	}
	sweep_plan_finish(&plan);
}

/* The very values: a sweep that another version of tony goes on with must not change its mind. */
static void test_chance_follows_from_seed_and_number(void **state)
{
	struct sweep_plan plan;

	(void)state;
	begin(&plan, SWEEP_RANDOM, "a=uniform(0,1) b=int(1,100) c=x,y,z");
	char *first cleanup_free = values_of(&plan, 0), *third cleanup_free = values_of(&plan, 3);
	assert_string_not_equal(first, third);
	expect(&plan, 0, "0.609395 99 y");
	expect(&plan, 3, "0.258296 63 x");
	plan.trials = 99;
	expect(&plan, 3, third);
	plan.seed = 8;
	char *other cleanup_free = values_of(&plan, 3);
	assert_string_not_equal(other, third);
	sweep_plan_finish(&plan);
}

static void test_a_latin_hypercube_tries_each_part_once(void **state)
{
	struct sweep_plan plan;
	bool seen[2][12] = {0};

	(void)state;
	begin(&plan, SWEEP_LATIN, "a=uniform(0,12) b=loguniform(1,4096)");
	for (int64_t i = 0; i < plan.trials; i++) {
		struct str_list values cleanup_str_list = {0};
		sweep_plan_values(&plan, i, &values);
		size_t a = (size_t)atof(values.items[0]), b = (size_t)log2(atof(values.items[1]));
		assert_true(a < 12 && b < 12);
		assert_false(seen[0][a] || seen[1][b]);
		seen[0][a] = seen[1][b] = true;
	}
	sweep_plan_finish(&plan);
}

static void test_rungs_are_powers_of_the_reduction(void **state)
{
	const struct sweep_plan plan = {.first_rung = 2, .reduction = 3};

	(void)state;
	assert_int_equal(sweep_plan_rung(&plan, 0), 2);
	assert_int_equal(sweep_plan_rung(&plan, 1), 6);
	assert_int_equal(sweep_plan_rung(&plan, 3), 54);
	assert_true(sweep_plan_rung(&plan, 60) > INT64_MAX / 4);
}

static void test_a_trial_goes_on_among_the_best_part(void **state)
{
	const struct sweep_plan plan = {.reduction = 3};
	const struct sweep_plan most = {.reduction = 3, .maximize = true};
	const double values[] = {5, 3, 4, 1, 2};

	(void)state;
	assert_true(sweep_plan_goes_on(&plan, NULL, 0, 9));
	assert_false(sweep_plan_goes_on(&plan, values, 1, 9)); /* one of two: the best alone */
	assert_true(sweep_plan_goes_on(&plan, values, 1, 4));
	assert_true(sweep_plan_goes_on(&plan, values, 5, 1.5)); /* two of six */
	assert_false(sweep_plan_goes_on(&plan, values, 5, 2.5));
	assert_true(sweep_plan_goes_on(&most, values, 5, 4.5));
	assert_false(sweep_plan_goes_on(&most, values, 5, 3.5));
	assert_false(sweep_plan_goes_on(&plan, values, 5, NAN));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_grid_has_every_combination_once),
		cmocka_unit_test(test_chance_follows_from_seed_and_number),
		cmocka_unit_test(test_a_latin_hypercube_tries_each_part_once),
		cmocka_unit_test(test_rungs_are_powers_of_the_reduction),
		cmocka_unit_test(test_a_trial_goes_on_among_the_best_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
