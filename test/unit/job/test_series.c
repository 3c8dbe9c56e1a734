/* What is promised: src/job/series.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "job/series.h"

static void add(struct series *series, int64_t time, double value)
{
	series_add(series, time, 10 * time, &value);
}

static void expect(const struct series *series, size_t points, const struct series_point *wanted,
		   size_t count)
{
	struct series_point *found cleanup_free = NULL;

	assert_int_equal(series_read(series, 0, points, &found), count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(found[i].time_ms, wanted[i].time_ms);
		assert_int_equal(found[i].step, wanted[i].step);
		if (isnan(wanted[i].value))
			assert_true(isnan(found[i].value));
		else
			assert_float_equal((float)found[i].value, (float)wanted[i].value, 1e-6);
	}
}

static void test_all_is_kept_while_there_is_room(void **state)
{
	struct series *series = series_create(1, 4, true);

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
	struct series *series = series_create(1, 4, true);

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
	struct series *series = series_create(2, 32, false);
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

/* What is not known is no zero. */
static void test_gaps(void **state)
{
	struct series *series = series_create(1, 4, true);

	add(series, 1, NAN);
	add(series, 2, 6);
	add(series, 3, NAN);
	add(series, 4, (double)INFINITY);
	expect(series, 10,
	       (struct series_point[]){{1, 10, NAN}, {2, 20, 6}, {3, 30, NAN}, {4, 40, NAN}}, 4);
	assert_true(isnan(series_last(series, 0)));
	add(series, 5, 1e300);
	expect(series, 10, (struct series_point[]){{2, 20, 6}, {4, 40, NAN}, {5, 50, NAN}}, 3);
	expect(series, 1, (struct series_point[]){{5, 50, 6}}, 1);
	series_destroy(series);
}

static void test_time_does_not_go_back(void **state)
{
	struct series *series = series_create(1, 4, true);

	add(series, 9, 1);
	series_add(series, 3, 30, (double[]){2});
	expect(series, 10, (struct series_point[]){{9, 90, 1}, {9, 30, 2}}, 2);
	series_destroy(series);
}

static void test_memory_is_shared(void **state)
{
	assert_int_equal(series_share(32 << 20, 1, 9, false), SERIES_POINTS_MAX);
	assert_int_equal(series_share(32 << 20, 100000, 9, false), SERIES_POINTS_MIN);
	size_t points = series_share(32 << 20, 10000, 9, false);
	assert_in_range(points, 64, 100);
	assert_int_equal(points % 2, 0);
	assert_in_range(10000 * series_bytes(9, points, false), 30 << 20, 36 << 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_is_kept_while_there_is_room),
		cmocka_unit_test(test_neighbours_become_one),
		cmocka_unit_test(test_without_end),
		cmocka_unit_test(test_gaps),
		cmocka_unit_test(test_time_does_not_go_back),
		cmocka_unit_test(test_memory_is_shared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
