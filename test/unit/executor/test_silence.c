/* How long an AM has been silent for an executor that may be kept from listening. */
#include "../base/test.h"

#include "executor/silence.h"

enum { LIMIT_MS = 25000, STEP_MS = 2500 };

static struct silence begin(void)
{
	struct silence silence;

	silence_begin(&silence, LIMIT_MS, 0);
	return silence;
}

/* Looks that each come so much later than they should. Returns when the limit is over. */
static int64_t look_until_over(struct silence *silence, int64_t late_ms)
{
	int64_t now;

	do {
		now = silence->look_at + late_ms;
	} while (!silence_look(silence, now));
	return now;
}

static void an_executor_that_is_on_time_waits_for_the_limit(void **state)
{
	struct silence silence = begin();

	assert_int_equal(look_until_over(&silence, 0), LIMIT_MS);
}

static void a_word_begins_it_anew(void **state)
{
	struct silence silence = begin();

	for (int i = 0; i < 9; i++)
		assert_false(silence_look(&silence, silence.look_at));
	silence_heard(&silence, 9 * STEP_MS + 1);
	assert_int_equal(look_until_over(&silence, 0), 9 * STEP_MS + 1 + LIMIT_MS);
}

/* SIGSTOP for most of the limit: the looks before and after count, and that one does not. */
static void time_in_which_the_executor_did_not_run_does_not_count(void **state)
{
	struct silence silence = begin();

	assert_false(silence_look(&silence, silence.look_at));
	assert_false(silence_look(&silence, silence.look_at + 20000));
	assert_int_equal(look_until_over(&silence, 0), 2 * STEP_MS + 20000 + 9 * STEP_MS);
}

static void one_that_is_always_late_ends_at_three_times_the_limit(void **state)
{
	struct silence silence = begin();

	int64_t end = look_until_over(&silence, 5000);
	assert_in_range(end, 3 * LIMIT_MS, 3 * LIMIT_MS + STEP_MS + 5000);
}

static void a_stop_that_is_longer_than_all_forgiveness_ends_it(void **state)
{
	struct silence silence = begin();

	assert_true(silence_look(&silence, 3 * LIMIT_MS));
}

static void without_a_limit_it_never_ends(void **state)
{
	struct silence silence;

	silence_begin(&silence, 0, 0);
	assert_true(silence.look_at == INT64_MAX);
	assert_false(silence_look(&silence, INT64_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_executor_that_is_on_time_waits_for_the_limit),
		cmocka_unit_test(a_word_begins_it_anew),
		cmocka_unit_test(time_in_which_the_executor_did_not_run_does_not_count),
		cmocka_unit_test(one_that_is_always_late_ends_at_three_times_the_limit),
		cmocka_unit_test(a_stop_that_is_longer_than_all_forgiveness_ends_it),
		cmocka_unit_test(without_a_limit_it_never_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
