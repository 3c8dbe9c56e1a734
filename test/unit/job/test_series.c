/* What is promised: src/job/series.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "job/series.h"
#include "job/series_text.h"

static const struct series_shape told = {
	.columns = 1, .points = 4, .is_told = true, .has_range = true};
static const struct series_shape measured = {.columns = 2, .points = 32, .has_range = true};

static void add(struct series *series, int64_t time, double value)
{
	series_add(series, time, 10 * time, &value);
}

static void expect_number(double found, double wanted)
{
	if (isnan(wanted))
		assert_true(isnan(found));
	else
		assert_float_equal((float)found, (float)wanted, 1e-6);
}

static void expect(const struct series *series, size_t points, const struct series_point *wanted,
		   size_t count)
{
	struct series_point *found cleanup_free = NULL;

	assert_int_equal(series_read(series, 0, points, &found), count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(found[i].time_ms, wanted[i].time_ms);
		assert_int_equal(found[i].step, wanted[i].step);
		expect_number(found[i].value, wanted[i].value);
		assert_int_equal(found[i].has_nan, wanted[i].has_nan);
		assert_int_equal(found[i].is_after_gap, wanted[i].is_after_gap);
	}
}

static void test_all_is_kept_while_there_is_room(void **state)
{
	struct series *series = series_create(&told);

	expect(series, 10, NULL, 0);
	assert_true(isnan(series_last(series, 0)));
	add(series, 1, 5);
	add(series, 2, 7);
	expect(series, 10, (struct series_point[]){{1, 10, 5}, {2, 20, 7}}, 2);
	assert_float_equal((float)series_last(series, 0), 7, 1e-6);
	series_destroy(series);
}

static void test_neighbours_become_one(void **state)
{
	struct series *series = series_create(&told);

	for (int i = 1; i <= 5; i++)
		add(series, i, i);
	expect(series, 10, (struct series_point[]){{2, 20, 1.5}, {4, 40, 3.5}, {5, 50, 5}}, 3);
	add(series, 6, 8);
	expect(series, 10, (struct series_point[]){{2, 20, 1.5}, {4, 40, 3.5}, {6, 60, 6.5}}, 3);
	assert_float_equal((float)series_last(series, 0), 8, 1e-6);
	series_destroy(series);
}

static void test_without_end(void **state)
{
	struct series *series = series_create(&measured);
	struct series_point *found cleanup_free = NULL;
	double sum = 0;

	for (int i = 0; i < 1 << 20; i++)
		series_add(series, i, 0, (double[]){i, 3});
	size_t count = series_read(series, 0, 1000, &found);
	assert_in_range(count, 16, 33);
	for (size_t i = 0; i < count; i++) {
		assert_true(i == 0 || found[i].time_ms > found[i - 1].time_ms);
		sum += found[i].value;
	}
	assert_int_equal(found[count - 1].time_ms, (1 << 20) - 1);
	assert_float_equal((float)(sum / (double)count), (1 << 19), 1);
	free(mem_steal(&found));
	count = series_read(series, 1, 7, &found);
	assert_in_range(count, 4, 7);
	for (size_t i = 0; i < count; i++)
		assert_float_equal((float)found[i].value, 3, 1e-6);
	series_destroy(series);
}

/* NaN is no zero, and is not lost among numbers. */
static void test_nan_is_kept(void **state)
{
	struct series *series = series_create(&told);

	add(series, 1, NAN);
	add(series, 2, 6);
	add(series, 3, NAN);
	add(series, 4, (double)INFINITY);
	expect(series, 10,
	       (struct series_point[]){{1, 10, NAN, .has_nan = true},
				       {2, 20, 6},
				       {3, 30, NAN, .has_nan = true},
				       {4, 40, NAN, .has_nan = true}},
	       4);
	assert_true(isnan(series_last(series, 0)));
	add(series, 5, NAN);
	expect(series, 10,
	       (struct series_point[]){{2, 20, 6, .has_nan = true},
				       {4, 40, NAN, .has_nan = true},
				       {5, 50, NAN, .has_nan = true}},
	       3);
	expect(series, 1, (struct series_point[]){{5, 50, 6, .has_nan = true}}, 1);
	series_destroy(series);
}

static void expect_mark(const struct series_mark *mark, int64_t time_ms, double value)
{
	assert_int_equal(mark->time_ms, time_ms);
	assert_int_equal(mark->step, time_ms > 0 ? 10 * time_ms : 0);
	expect_number(mark->value, value);
}

static void test_facts_are_exact_however_few_points_are_left(void **state)
{
	struct series *series = series_create(&told);
	struct series_facts facts;

	add(series, 1, 5);
	add(series, 2, 6);
	assert_false(series_facts(series, 0, 2, &facts));
	assert_true(series_facts(series, 0, 1, &facts));
	for (int i = 3; i <= 1000; i++)
		add(series, i, i == 500 ? 1e300 : i == 700 ? -4 : i > 990 || i == 37 ? NAN : 2);
	assert_true(series_facts(series, 0, 10, &facts));
	expect_mark(&facts.first, 1, 5);
	expect_mark(&facts.last, 1000, NAN);
	expect_mark(&facts.least, 700, -4);
	assert_int_equal(facts.most.step, 5000);
	assert_true(facts.most.value >= 1e300);
	assert_int_equal(facts.nans, 11);
	expect_mark(&facts.first_nan, 37, NAN);
	expect_mark(&facts.nan_since, 991, NAN);
	add(series, 1001, 3);
	series_facts(series, 0, 10, &facts);
	expect_mark(&facts.nan_since, 0, NAN);
	expect_mark(&facts.last, 1001, 3);
	series_destroy(series);
}

static void test_a_point_has_the_least_and_most_of_what_it_stands_for(void **state)
{
	struct series *series = series_create(&told);
	struct series_point *found cleanup_free = NULL;

	for (int i = 1; i <= 64; i++)
		add(series, i, i == 7 ? 900 : 1);
	size_t count = series_read(series, 0, 10, &found);
	assert_in_range(count, 2, 4);
	expect_number(found[0].most, 900);
	expect_number(found[0].least, 1);
	expect_number(found[1].most, 1);
	count = series_thin(found, count, 1);
	assert_int_equal(count, 1);
	expect_number(found[0].most, 900);
	series_destroy(series);
}

static void test_a_gap_is_kept(void **state)
{
	struct series *series = series_create(&told);

	series_break(series); /* before the first there is none */
	add(series, 1, 1);
	add(series, 2, 1);
	series_break(series);
	add(series, 3, 1);
	add(series, 4, 1);
	add(series, 5, 1);
	expect(series, 10,
	       (struct series_point[]){{2, 20, 1}, {4, 40, 1, .is_after_gap = true}, {5, 50, 1}},
	       3);
	series_destroy(series);
}

static void test_what_is_not_known_of_one_column_is_a_gap_in_it(void **state)
{
	struct series *series = series_create(&measured);
	struct series_facts facts;

	for (int i = 1; i <= 40; i++)
		series_add(series, i, 0, (double[]){i == 40 ? (double)NAN : i, 3});
	series_facts(series, 0, 10, &facts);
	assert_int_equal(facts.nans, 0);
	assert_int_equal(facts.last.time_ms, 39);
	assert_int_equal(facts.most.time_ms, 39);
	assert_true(isnan(series_last(series, 0)));
	expect_number(series_last(series, 1), 3);
	series_destroy(series);
}

/* An AM that follows another goes on from what that one has written. */
static void test_points_are_taken_again(void **state)
{
	struct series *before = series_create(&told), *after = series_create(&told);
	struct series_point *found cleanup_free = NULL, *again cleanup_free = NULL;
	struct series_facts facts, now;

	for (int i = 1; i <= 21; i++)
		add(before, i, i == 3 ? (double)NAN : i);
	size_t count = series_read(before, 0, 10, &found);
	for (size_t i = 0; i < count; i++)
		series_add_point(after, &found[i]);
	assert_true(series_facts(before, 0, count, &facts));
	series_restore_facts(after, 0, &facts);
	expect(after, 10, found, count);
	series_read(after, 0, 10, &again);
	expect_number(again[0].least, found[0].least);
	assert_true(series_facts(after, 0, count, &now));
	assert_memory_equal(&now.least, &facts.least, sizeof(now.least));
	assert_int_equal(now.nans, 1);
	series_destroy(before);
	series_destroy(after);
}

/* A series that an older tony kept is read, and loses no peak when a reader wants
 * fewer points. */
static void test_an_older_series_is_read(void **state)
{
	json_t *series cleanup_json =
		json_pack("{s:[i,i,i,i,i],s:[i,i,i,i,i],s:[f,f,n,f,f]}", "t", 1, 2, 3, 4, 5, "step",
			  10, 20, 30, 40, 50, "v", 1.0, 99.0, 3.0, 4.0);
	struct series_facts facts;
	double mean, peak = 0;
	size_t i;
	json_t *value;

	assert_int_equal(series_parse_facts(series, &facts, &mean), 4);
	expect_mark(&facts.most, 2, 99);
	expect_mark(&facts.last, 5, 4);
	assert_int_equal(facts.nans, 0);
	assert_null(series_nan_words(&facts));
	series_thin_object(series, 2);
	json_array_foreach(json_object_get(series, "most"), i, value)
	{
		peak = fmax(peak, json_number_value(value));
	}
	expect_number(peak, 99);
	assert_int_equal(json_array_size(json_object_get(series, "v")), 2);
	series_parse_facts(series, &facts, &mean);
	expect_mark(&facts.most, 2, 99);
	expect_mark(&facts.first, 1, 1);
}

static void test_time_does_not_go_back(void **state)
{
	struct series *series = series_create(&told);

	add(series, 9, 1);
	series_add(series, 3, 30, (double[]){2});
	expect(series, 10, (struct series_point[]){{9, 90, 1}, {9, 30, 2}}, 2);
	series_destroy(series);
}

static void test_memory_is_shared(void **state)
{
	struct series_shape shape = series_share(32 << 20, 1, 9, false);

	assert_int_equal(shape.points, SERIES_POINTS_MAX);
	assert_true(shape.has_range);
	assert_int_equal(series_share(32 << 20, 100000, 9, false).points, SERIES_POINTS_MIN);
	shape = series_share(32 << 20, 5000, 9, false);
	assert_true(shape.has_range && shape.points >= SERIES_POINTS_MIN);
	assert_in_range(5000 * series_bytes(&shape), 30 << 20, 32 << 20);
	/* Rather means alone than fewer points, or more memory. */
	shape = series_share(32 << 20, 10000, 9, false);
	assert_false(shape.has_range);
	assert_in_range(shape.points, 48, 100);
	assert_int_equal(shape.points % 2, 0);
	assert_in_range(10000 * series_bytes(&shape), 30 << 20, 32 << 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_is_kept_while_there_is_room),
		cmocka_unit_test(test_neighbours_become_one),
		cmocka_unit_test(test_without_end),
		cmocka_unit_test(test_nan_is_kept),
		cmocka_unit_test(test_facts_are_exact_however_few_points_are_left),
		cmocka_unit_test(test_a_point_has_the_least_and_most_of_what_it_stands_for),
		cmocka_unit_test(test_a_gap_is_kept),
		cmocka_unit_test(test_what_is_not_known_of_one_column_is_a_gap_in_it),
		cmocka_unit_test(test_points_are_taken_again),
		cmocka_unit_test(test_an_older_series_is_read),
		cmocka_unit_test(test_time_does_not_go_back),
		cmocka_unit_test(test_memory_is_shared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
