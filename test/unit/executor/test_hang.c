/* What counts as a sign of life, and how far a program says that it is. */
#include "../base/scratch.h"
#include "../base/test.h"

#include <string.h>

#include "base/mem.h"
#include "executor/hang.h"
#include "executor/progress.h"

/* ---- signs -------------------------------------------------------------------------------- */

static struct hang begin(const struct hang_signs *signs)
{
	struct hang hang = {.limit_ms = 1000};

	hang_begin(&hang, 0);
	assert_false(hang_look(&hang, signs, 0));
	return hang;
}

/* promise: R18 */
static void without_a_sign_of_life_it_hangs(void **state)
{
	const struct hang_signs signs = {.output_bytes = 10, .cpu_ms = 5000, .io_bytes = 1 << 20};
	struct hang hang = begin(&signs);

	assert_false(hang_look(&hang, &signs, 999));
	assert_true(hang_look(&hang, &signs, 1000));
	char *text cleanup_free = hang_text(&hang);
	assert_string_equal(text, "nothing was written, read or computed for 1.0 s");
}

static void assert_sign(struct hang_signs before, struct hang_signs after, bool is_sign)
{
	struct hang hang = begin(&before);

	assert_int_equal(hang_look(&hang, &after, 1000), !is_sign);
}

/* promise: R18 */
static void what_counts_as_a_sign_of_life(void **state)
{
	const struct hang_signs before = {.output_bytes = 10, .cpu_ms = 5000, .io_bytes = 1 << 20};
	struct hang_signs after = before;

	after.output_bytes++;
	assert_sign(before, after, true);
	after = before;
	after.cpu_ms += 20; /* it wakes up now and then */
	assert_sign(before, after, false);
	after.cpu_ms += 100;
	assert_sign(before, after, true);
	after = before;
	after.cpu_ms -= 1000; /* a process has ended */
	assert_sign(before, after, true);
	after = before;
	after.io_bytes += 8;
	assert_sign(before, after, false);
	after.io_bytes += 1 << 16;
	assert_sign(before, after, true);
}

/* A collective operation without its peer computes for ever, and its watchdog writes to the log. */
/* promise: R19 */
static void who_tells_steps_is_judged_by_them(void **state)
{
	struct hang_signs before = {.tells_steps = true, .change = 120};
	struct hang_signs after = before;

	after.output_bytes = 1000;
	after.cpu_ms = 100000;
	assert_sign(before, after, false);
	after.change = 121;
	assert_sign(before, after, true);
	after.change = 0; /* from its checkpoint */
	assert_sign(before, after, true);
	struct hang hang = begin(&before);
	char *text cleanup_free = hang_text(&hang);
	assert_string_equal(text, "it told no further step for 1.0 s");
}

static void the_first_step_is_a_sign_and_a_file_being_written_none(void **state)
{
	struct hang_signs silent = {.cpu_ms = 10}, told = {.tells_steps = true, .change = 0};

	assert_sign(silent, told, true);
	assert_sign(told, silent, false);
}

/* ---- progress ----------------------------------------------------------------------------- */

static void assert_progress(const char *text, int64_t step, int64_t total)
{
	struct progress progress = {0};

	if (!progress_parse(text, strlen(text), &progress))
		fail_msg("\"%s\"", text);
	assert_int_equal(progress.step, step);
	assert_int_equal(progress.total, total);
}

static void a_step_and_how_many_there_will_be(void **state)
{
	static const char *const bad[] = {"",	  "\n",	      "x",   "-1",
					  "12 x", "12 13 14", "1e5", "1234567890123456789"};

	assert_progress("120", 120, 0);
	assert_progress("120\n", 120, 0);
	assert_progress(" 120 1000\n", 120, 1000);
	assert_progress("120/1000", 120, 1000);
	assert_progress("120 / 1000", 120, 1000);
	assert_progress("12.75 100.0", 12, 100);
	for (size_t i = 0; i < array_length(bad); i++) {
		struct progress progress;
		if (progress_parse(bad[i], strlen(bad[i]), &progress))
			fail_msg("\"%s\" is taken", bad[i]);
	}
}

static void the_slowest_of_several_processes_counts(void **state)
{
	char *first cleanup_free = mem_strdup(scratch_path(state, "progress"));
	struct progress progress;

	assert_false(progress_read(first, 2, &progress));
	scratch_write(state, "progress", "12 100", 0600);
	assert_true(progress_read(first, 2, &progress));
	assert_int_equal(progress.step, 12);
	scratch_write(state, "progress-1", "10 100", 0600);
	assert_true(progress_read(first, 2, &progress));
	assert_int_equal(progress.step, 10);
	assert_int_equal(progress.total, 100);
	assert_int_equal(progress.change, 22);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_sign_of_life_it_hangs),
		cmocka_unit_test(what_counts_as_a_sign_of_life),
		cmocka_unit_test(who_tells_steps_is_judged_by_them),
		cmocka_unit_test(the_first_step_is_a_sign_and_a_file_being_written_none),
		cmocka_unit_test(a_step_and_how_many_there_will_be),
		scratch_test(the_slowest_of_several_processes_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
