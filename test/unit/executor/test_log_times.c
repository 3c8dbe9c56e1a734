/* The index of times beside a log. */
#include "../base/scratch.h"
#include "../base/test.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "executor/log_times.h"
#include "output_bed.h"

static void entries_are_a_step_apart(void **state)
{
	struct log_times times = {0};

	log_times_open(&times, scratch_path(state, "stdout"), 0, -1);
	log_times_mark(&times, 0, 5000);
	log_times_mark(&times, 10, 5099);
	log_times_mark(&times, 20, 5100);
	log_times_mark(&times, 30, 5150);
	log_times_mark(&times, 40, 6000);
	log_times_close(&times);
	assert_file(state, "stdout.times", "5000 0\n5100 20\n6000 40\n");
}

static void a_part_tells_what_stood_before_it(void **state)
{
	struct log_times times = {0};

	log_times_open(&times, scratch_path(state, "stdout"), 0, 70);
	log_times_mark(&times, 0, 5000);
	log_times_close(&times);
	assert_file(state, "stdout.times", "from 70\n5000 0\n");
	log_times_open(&times, scratch_path(state, "stdout"), 12, -1);
	assert_int_equal(times.from, 70);
	log_times_close(&times);
	log_times_open(&times, scratch_path(state, "stdout"), 0, -1);
	log_times_close(&times);
	assert_file(state, "stdout.times", "from 70\n");
}

/* Lines of one stream between two lines of the other stand between them, also where the clock
 * tells no difference. */
static void a_turn_has_an_entry_of_its_own(void **state)
{
	struct log_turn turn = {0};
	struct log_times out = {.turn = &turn}, err = {.turn = &turn};

	log_times_open(&out, scratch_path(state, "stdout"), 0, -1);
	log_times_open(&err, scratch_path(state, "stderr"), 0, -1);
	log_times_mark(&out, 0, 5000);
	log_times_mark(&out, 2, 5000);
	log_times_mark(&err, 0, 5000);
	log_times_mark(&out, 4, 5001);
	log_times_mark(&err, 2, 5004);
	log_times_mark(&err, 4, 5050);
	log_times_mark(&err, 6, 5104);
	log_times_close(&out);
	log_times_close(&err);
	assert_file(state, "stdout.times", "5000 0\n5002 4\n");
	assert_file(state, "stderr.times", "5001 0\n5004 2\n5104 6\n");
}

/* An index is no longer than some kilobytes for each second. */
static void many_turns_have_few_entries(void **state)
{
	struct log_turn turn = {0};
	struct log_times out = {.turn = &turn}, err = {.turn = &turn};

	log_times_open(&out, scratch_path(state, "stdout"), 0, -1);
	log_times_open(&err, scratch_path(state, "stderr"), 0, -1);
	for (int64_t i = 0; i < 20000; i++) {
		log_times_mark(&out, i, 5000 + i / 10);
		log_times_mark(&err, i, 5000 + i / 10);
	}
	log_times_close(&out);
	log_times_close(&err);
	assert_true(out.size + err.size < 16384);
}

static void a_clock_set_back_is_told(void **state)
{
	struct log_times times = {0};

	log_times_open(&times, scratch_path(state, "stdout"), 0, -1);
	log_times_mark(&times, 0, 5000);
	log_times_mark(&times, 7, 3000);
	log_times_mark(&times, 9, 3050);
	log_times_close(&times);
	assert_file(state, "stdout.times", "5000 0\n3000 7\n");
}

static void the_index_goes_on_with_its_log_and_begins_anew_with_it(void **state)
{
	struct log_times times = {0};

	scratch_write(state, "stdout.times", "1 0\n", 0600);
	log_times_open(&times, scratch_path(state, "stdout"), 12, -1);
	log_times_mark(&times, 12, 2);
	log_times_close(&times);
	assert_file(state, "stdout.times", "1 0\n");
	log_times_open(&times, scratch_path(state, "stdout"), 12, -1);
	log_times_mark(&times, 12, 200);
	log_times_close(&times);
	assert_file(state, "stdout.times", "1 0\n200 12\n");
	log_times_open(&times, scratch_path(state, "stdout"), 0, -1);
	log_times_mark(&times, 0, 300);
	log_times_close(&times);
	assert_file(state, "stdout.times", "300 0\n");
}

static void a_renamed_log_takes_its_index_along(void **state)
{
	const char *log = scratch_path(state, "stdout");
	const char *next = scratch_path(state, "stdout.1");

	scratch_write(state, "stdout.times", "1 0\n", 0600);
	log_times_rename(log, next);
	assert_file(state, "stdout.1.times", "1 0\n");
	assert_false(fs_exists(scratch_path(state, "stdout.times")));
	/* A log without an index must not be read by that of another. */
	log_times_rename(log, next);
	assert_false(fs_exists(scratch_path(state, "stdout.1.times")));
}

static void what_cannot_be_written_is_left_out(void **state)
{
	struct log_times times = {0};

	log_times_open(&times, scratch_path(state, "missing/stdout"), 0, -1);
	log_times_mark(&times, 0, 5000);
	log_times_close(&times);
	assert_int_equal(symlink("/dev/full", scratch_path(state, "stdout.times")), 0);
	log_times_open(&times, scratch_path(state, "stdout"), 0, -1);
	log_times_mark(&times, 0, 5000);
	log_times_mark(&times, 1, 5001);
	log_times_close(&times);
}

/* ---- with the output ---------------------------------------------------------------------- */

static void assert_entry(void **state, const char *name, int64_t since_ms, int64_t offset)
{
	char *text cleanup_free = scratch_read(state, name);
	const char *entry = strncmp(text, "from ", 5) == 0 ? strchr(text, '\n') + 1 : text;
	int64_t time_ms, found;

	assert_int_equal(sscanf(entry, "%" SCNd64 " %" SCNd64, &time_ms, &found), 2);
	assert_in_range(time_ms, since_ms, clock_wall_ms());
	assert_int_equal(found, offset);
}

static void every_file_has_its_index(void **state)
{
	struct output_options options = {.rotate_bytes = 10, .keep = 2};
	int64_t start = clock_wall_ms();
	struct bed bed;

	open_bed(&bed, scratch_path(state, "stdout"), &options);
	put(&bed, "aaaa\nbb\n");
	assert_entry(state, "stdout.times", start, 0);
	char *first cleanup_free = scratch_read(state, "stdout.times");
	put(&bed, "cc\ndd");
	assert_entry(state, "stdout.times", start, 0);
	char *second cleanup_free = scratch_read(state, "stdout.1.times");
	assert_memory_equal(second, first, strlen(first)); /* it may have got another entry */
	put(&bed, "eeeeeeee\nf");
	put(&bed, "gggggggggggg\nh");
	assert_entry(state, "stdout.times", start, 0);
	assert_entry(state, "stdout.2.times", start, 0);
	assert_false(fs_exists(scratch_path(state, "stdout.3.times")));
	close_bed(&bed);
}

static void a_log_that_goes_on_is_indexed_from_its_end(void **state)
{
	struct output_options options = {0};
	int64_t start = clock_wall_ms();
	struct bed bed;

	scratch_write(state, "stdout", "of the run before\n", 0600);
	open_bed(&bed, scratch_path(state, "stdout"), &options);
	put(&bed, "one\n");
	assert_entry(state, "stdout.times", start, (int64_t)strlen("of the run before\n"));
	close_bed(&bed);
}

static void without_an_index_the_log_is_written_all_the_same(void **state)
{
	struct output_options options = {.rotate_bytes = 4, .keep = 1};
	struct bed bed;

	assert_int_equal(symlink("/dev/full", scratch_path(state, "stdout.times")), 0);
	open_bed(&bed, scratch_path(state, "stdout"), &options);
	put(&bed, "one\n");
	put(&bed, "two\n");
	assert_int_equal(output_loss(bed.output)->count.bytes, 0);
	close_bed(&bed);
	char *old cleanup_free = scratch_read(state, "stdout.1");
	assert_string_equal(old, "one\ntwo\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(entries_are_a_step_apart),
		scratch_test(a_part_tells_what_stood_before_it),
		scratch_test(a_turn_has_an_entry_of_its_own),
		scratch_test(many_turns_have_few_entries),
		scratch_test(a_clock_set_back_is_told),
		scratch_test(the_index_goes_on_with_its_log_and_begins_anew_with_it),
		scratch_test(a_renamed_log_takes_its_index_along),
		scratch_test(what_cannot_be_written_is_left_out),
		scratch_test(every_file_has_its_index),
		scratch_test(a_log_that_goes_on_is_indexed_from_its_end),
		scratch_test(without_an_index_the_log_is_written_all_the_same),
	};

	return cmocka_run_group_tests_name("log times", tests, NULL, NULL);
}
