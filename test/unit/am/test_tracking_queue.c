/* The promises of src/am/tracking_queue.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "am/tracking_queue.h"
#include "base/json.h"
#include "base/mem.h"

static void expect_key(const char *task, const char *run, const char *name, const char *wanted)
{
	char *key cleanup_free = tracking_key(task, run, name);

	assert_string_equal(key, wanted);
}

static void test_keys_are_those_that_every_server_takes(void **state)
{
	char text[300], wanted[251];

	expect_key(NULL, "", "loss", "loss");
	expect_key("worker-1", "eval", "top-5 (%)", "worker-1/eval/top-5 ___");
	expect_key(NULL, "", "//a///../b/./", "a/__/b/_");
	expect_key(NULL, "", "/", "_");
	expect_key(NULL, "",
		   "Gr\xc3\xb6\xc3\x9f"
		   "e:1",
		   "Gr____e_1");
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	memset(wanted, 'x', sizeof(wanted) - 1);
	wanted[sizeof(wanted) - 1] = '\0';
	expect_key(NULL, "", text, wanted);
}

static void add(struct tracking_queue *queue, int64_t from, int64_t to)
{
	for (int64_t step = from; step < to; step++)
		tracking_queue_add(queue, mem_strdup("loss"), 1000 + step, step, (double)step);
}

static void expect_taken(struct tracking_queue *queue, size_t count, int64_t first)
{
	json_t *metrics cleanup_json = tracking_queue_take(queue);
	const json_t *metric = json_array_get(metrics, 0);

	assert_int_equal(json_array_size(metrics), count);
	assert_string_equal(json_string_value(json_object_get(metric, "key")), "loss");
	assert_int_equal(json_integer_value(json_object_get(metric, "step")), first);
	assert_int_equal(json_integer_value(json_object_get(metric, "timestamp")), 1000 + first);
	assert_true(json_real_value(json_object_get(metric, "value")) == (double)first);
}

static void test_numbers_leave_in_order_and_stay_until_they_have_arrived(void **state)
{
	struct tracking_queue queue = {0};

	add(&queue, 0, TRACKING_BATCH_MAX + 5);
	expect_taken(&queue, TRACKING_BATCH_MAX, 0);
	tracking_queue_keep(&queue);
	expect_taken(&queue, TRACKING_BATCH_MAX, 0);
	tracking_queue_drop(&queue);
	expect_taken(&queue, 5, TRACKING_BATCH_MAX);
	add(&queue, TRACKING_BATCH_MAX + 5, TRACKING_BATCH_MAX + 7);
	tracking_queue_drop(&queue);
	expect_taken(&queue, 2, TRACKING_BATCH_MAX + 5);
	tracking_queue_finish(&queue);
}

static void test_a_full_queue_forgets_every_second_number_but_those_on_their_way(void **state)
{
	struct tracking_queue queue = {0};

	add(&queue, 0, TRACKING_QUEUE_MAX);
	assert_false(queue.is_thinned);
	expect_taken(&queue, TRACKING_BATCH_MAX, 0);
	add(&queue, TRACKING_QUEUE_MAX, TRACKING_QUEUE_MAX + 1);
	assert_true(queue.is_thinned);
	assert_int_equal(queue.count,
			 TRACKING_BATCH_MAX + (TRACKING_QUEUE_MAX - TRACKING_BATCH_MAX) / 2 + 1);
	for (size_t i = 0; i < TRACKING_BATCH_MAX; i++)
		assert_int_equal(queue.points[i].step, i);
	assert_int_equal(queue.points[TRACKING_BATCH_MAX].step, TRACKING_BATCH_MAX + 1);
	assert_int_equal(queue.points[queue.count - 1].step, TRACKING_QUEUE_MAX);
	tracking_queue_finish(&queue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys_are_those_that_every_server_takes),
		cmocka_unit_test(test_numbers_leave_in_order_and_stay_until_they_have_arrived),
		cmocka_unit_test(
			test_a_full_queue_forgets_every_second_number_but_those_on_their_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
