/* What is promised: src/job/straggler.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "job/straggler.h"

enum { TASKS_MAX = 10000 };

static struct straggler_signs signs[TASKS_MAX];
static struct straggler found[TASKS_MAX];

static int nothing_is_known(void **state)
{
	for (size_t i = 0; i < TASKS_MAX; i++) {
		signs[i] = (struct straggler_signs){true, NAN, NAN, NAN, NAN, NAN, NAN};
		found[i] = (struct straggler){0};
	}
	return 0;
}

static void steps(size_t task, double before, double now)
{
	signs[task].step_before = before;
	signs[task].step = now;
	signs[task].steps_made = now - before;
	signs[task].seconds = 60;
}

/* All as good as each other. */
static void all_step(size_t count, double before, double now)
{
	for (size_t i = 0; i < count; i++)
		steps(i, before, now);
}

static void all_use(size_t count, double gpu_percent, double cpu_percent)
{
	for (size_t i = 0; i < count; i++) {
		signs[i].gpu_percent = gpu_percent;
		signs[i].cpu_percent = cpu_percent;
	}
}

static size_t look(size_t count)
{
	size_t lagging = 0;

	straggler_look(signs, count, found);
	for (size_t i = 0; i < count; i++)
		lagging += found[i].kind != STRAGGLER_NONE;
	return lagging;
}

static void expect_text(size_t task, const char *wanted)
{
	char *name cleanup_free = mem_printf("worker:%zu", task);
	char *text cleanup_free = straggler_text(&found[task], name);

	assert_string_equal(text, wanted);
}

/* ---- what is found ------------------------------------------------------------------------ */

/* promise: R24 */
static void test_one_that_is_steps_behind(void **state)
{
	all_step(5, 300, 400);
	steps(3, 90, 120);
	assert_int_equal(look(5), 1);
	assert_int_equal(found[3].kind, STRAGGLER_STEP);
	assert_string_equal(straggler_kind_name(found[3].kind), "step");
	expect_text(3, "worker:3 is at step 120, its siblings at 400");
}

static void test_one_that_stands_still_at_the_beginning(void **state)
{
	all_step(5, 300, 400);
	steps(0, 0, 0);
	assert_int_equal(look(5), 1);
	expect_text(0, "worker:0 is at step 0, its siblings at 400");
}

/* Steps that went on from a checkpoint hide for long how slow one is. */
/* promise: R24 */
static void test_one_that_makes_fewer_steps(void **state)
{
	all_step(5, 100000, 100600);
	steps(2, 99800, 100040);
	assert_int_equal(look(5), 1);
	assert_int_equal(found[2].kind, STRAGGLER_RATE);
	expect_text(2, "worker:2 makes 4.00 steps per second, its siblings 10.00");
}

static void test_one_that_is_left_behind_by_those_that_have_ended(void **state)
{
	all_step(5, 400, 400);
	for (size_t i = 0; i < 4; i++)
		signs[i].runs = false;
	steps(4, 90, 120);
	assert_int_equal(look(5), 1);
	expect_text(4, "worker:4 is at step 120, its siblings at 400");
	/* Nobody waits for one that has ended, however early. */
	all_step(5, 390, 400);
	for (size_t i = 0; i < 4; i++)
		signs[i].runs = true;
	signs[4].runs = false;
	steps(4, 100, 100);
	assert_int_equal(look(5), 0);
}

/* promise: R24 */
static void test_one_whose_processor_idles(void **state)
{
	all_use(4, NAN, 390);
	signs[1].cpu_percent = 10;
	assert_int_equal(look(4), 1);
	assert_int_equal(found[1].kind, STRAGGLER_CPU);
	expect_text(1, "worker:1 uses 10% of a core, its siblings 390%");
}

/* Who waits for others may use more of its processor: the steps know better. */
/* promise: R24 */
static void test_steps_count_more_than_processor_time(void **state)
{
	all_step(4, 300, 400);
	all_use(4, NAN, 390);
	signs[1].cpu_percent = 10;
	assert_int_equal(look(4), 0);
}

/* All make the same steps, since they wait for each other in each of them. */
/* promise: R24 */
static void test_one_whose_gpu_idles(void **state)
{
	all_step(4, 300, 400);
	all_use(4, 95, 100);
	signs[0].gpu_percent = 30;
	assert_int_equal(look(4), 1);
	assert_int_equal(found[0].kind, STRAGGLER_GPU);
	expect_text(0, "worker:0 uses 30% of its GPUs, its siblings 95%");
}

/* promise: R26 */
static void test_a_tenth_of_many(void **state)
{
	all_step(TASKS_MAX, 300, 400);
	for (size_t i = 0; i < TASKS_MAX / 10; i++)
		steps(7 * i, 100, 150);
	assert_int_equal(look(TASKS_MAX), TASKS_MAX / 10);
	for (size_t i = 0; i < TASKS_MAX; i++)
		assert_int_equal(found[i].kind != STRAGGLER_NONE,
				 i % 7 == 0 && i / 7 < TASKS_MAX / 10);
	/* One more, and they are no exception. */
	steps(TASKS_MAX - 1, 100, 150);
	assert_int_equal(look(TASKS_MAX), 0);
}

/* Of many, a few always are a bit slower. */
static void test_those_between_do_not_hide_it(void **state)
{
	all_step(50, 300, 400);
	steps(10, 240, 320);
	steps(11, 230, 310);
	steps(12, 90, 120);
	assert_int_equal(look(50), 1);
	assert_int_equal(found[12].kind, STRAGGLER_STEP);
}

/* ---- what is none ------------------------------------------------------------------------- */

/* promise: R26 */
static void test_of_three_nobody_is_odd(void **state)
{
	all_step(3, 300, 400);
	steps(1, 9, 12);
	assert_int_equal(look(3), 0);
	assert_int_equal(look(0), 0);
}

/* promise: R26 */
static void test_all_differ(void **state)
{
	for (size_t i = 0; i < 20; i++)
		steps(i, (double)(10 * i), (double)(20 * i));
	assert_int_equal(look(20), 0);
	/* Two camps. */
	all_step(20, 300, 400);
	for (size_t i = 0; i < 10; i++)
		steps(i, 90, 120);
	assert_int_equal(look(20), 0);
	/* One is far ahead. */
	all_step(20, 90, 120);
	steps(5, 30000, 40000);
	assert_int_equal(look(20), 0);
}

static void test_the_gap_is_not_clear(void **state)
{
	all_step(5, 300, 400);
	steps(1, 200, 270);
	steps(2, 240, 320);
	assert_int_equal(look(5), 0);
	all_step(5, 300, 400);
	steps(1, 225, 300);
	assert_int_equal(look(5), 0);
}

static void test_behind_for_a_moment_only(void **state)
{
	all_step(5, 40, 400);
	steps(3, 38, 120);
	signs[3].steps_made = NAN;
	assert_int_equal(look(5), 0);
	/* It has not been there for long. */
	steps(3, NAN, 120);
	assert_int_equal(look(5), 0);
}

static void test_the_first_steps_say_nothing(void **state)
{
	all_step(5, 4, 8);
	steps(3, 1, 2);
	assert_int_equal(look(5), 0);
	all_use(5, 15, 15);
	signs[3].gpu_percent = signs[3].cpu_percent = 0;
	assert_int_equal(look(5), 0);
}

static void test_too_few_are_known(void **state)
{
	all_step(4, 300, 400);
	steps(0, 90, 120);
	assert_int_equal(look(4), 1);
	assert_int_equal(look(6), 0); /* two of six say nothing */
	for (size_t i = 0; i < 4; i++)
		signs[i].runs = false;
	assert_int_equal(look(6), 0);
}

static void test_nothing_is_known(void **state)
{
	assert_int_equal(look(100), 0);
	all_step(5, 0, 0);
	all_use(5, 0, 0);
	assert_int_equal(look(5), 0);
}

/* ---- as time goes on ---------------------------------------------------------------------- */

/* promise: R25 */
static void test_it_lags_until_it_has_caught_up(void **state)
{
	all_step(5, 300, 400);
	steps(3, 210, 320);
	assert_int_equal(look(5), 0);
	steps(3, 150, 270);
	assert_int_equal(look(5), 1);
	steps(3, 210, 320); /* hardly better */
	assert_int_equal(look(5), 1);
	all_step(5, 400, 500);
	steps(3, 320, 450);
	assert_int_equal(look(5), 0);
	steps(3, 330, 410);
	assert_int_equal(look(5), 0);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup(test, nothing_is_known)
	const struct CMUnitTest tests[] = {
		TEST(test_one_that_is_steps_behind),
		TEST(test_one_that_stands_still_at_the_beginning),
		TEST(test_one_that_makes_fewer_steps),
		TEST(test_one_that_is_left_behind_by_those_that_have_ended),
		TEST(test_one_whose_processor_idles),
		TEST(test_steps_count_more_than_processor_time),
		TEST(test_one_whose_gpu_idles),
		TEST(test_a_tenth_of_many),
		TEST(test_those_between_do_not_hide_it),
		TEST(test_of_three_nobody_is_odd),
		TEST(test_all_differ),
		TEST(test_the_gap_is_not_clear),
		TEST(test_behind_for_a_moment_only),
		TEST(test_the_first_steps_say_nothing),
		TEST(test_too_few_are_known),
		TEST(test_nothing_is_known),
		TEST(test_it_lags_until_it_has_caught_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
