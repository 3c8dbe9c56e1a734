/* Output into rotated files, whatever the disk says. */
#include "../base/scratch.h"
#include "../base/test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "output_bed.h"

static void output_is_appended(void **state)
{
	struct output_options options = {.tail_lines = 2};
	struct str_list lines = {0};
	struct bed bed;

	scratch_write(state, "stderr", "of the run before\n", 0600);
	open_bed(&bed, scratch_path(state, "stderr"), &options);
	put(&bed, "one\ntwo\n");
	put(&bed, "three");
	output_drain(bed.output);
	assert_file(state, "stderr", "of the run before\none\ntwo\nthree");
	tail_list(output_tail(bed.output), &lines);
	assert_text_freed(str_list_join(&lines, "|"), "two|three");
	str_list_finish(&lines);
	close_bed(&bed);
}

static void what_is_in_the_pipe_at_the_end_is_kept(void **state)
{
	struct output_options options = {0};
	struct bed bed;

	open_bed(&bed, scratch_path(state, "stdout"), &options);
	assert_int_equal(write(bed.writer, "last words", 10), 10);
	output_drain(bed.output); /* though somebody still holds the pipe open */
	assert_file(state, "stdout", "last words");
	close_bed(&bed);
}

static void noise_is_left_out_line_by_line(void **state)
{
	static const char *const noise[] = {"tick", "tock", NULL};
	struct output_options options = {.tail_lines = 9, .noise = noise};
	struct str_list lines = {0};
	struct bed bed;

	open_bed(&bed, scratch_path(state, "stderr"), &options);
	put(&bed, "a tick\none\na tock it is\n\ntwo\nthr");
	put(&bed, "ee tick\n"); /* of a line whose beginning is written */
	put(&bed, "a tick\n");
	put(&bed, "tick"); /* no whole line yet */
	put(&bed, " tack\nfour");
	output_drain(bed.output);
	assert_file(state, "stderr", "one\n\ntwo\nthree tick\nfour");
	tail_list(output_tail(bed.output), &lines);
	assert_text_freed(str_list_join(&lines, "|"), "one||two|three tick|four");
	str_list_finish(&lines);
	close_bed(&bed);
}

/* promise: S80 */
static void secrets_are_masked_in_the_file_and_the_tail(void **state)
{
	struct job_secret items[] = {{(char *)"KEY", false, (char *)"canary-1", 8}};
	const struct job_secrets secrets = {items, array_length(items)};
	struct mask_words *words = mask_words_create(&secrets, NULL);
	struct output_options options = {.tail_lines = 9, .mask = words};
	struct str_list lines = {0};
	struct bed bed;

	open_bed(&bed, scratch_path(state, "stderr"), &options);
	put(&bed, "bad key: can");
	assert_file(state, "stderr", "bad key: ");
	put(&bed, "ary-1\nand can");
	output_drain(bed.output);
	assert_file(state, "stderr", "bad key: ***\nand can");
	tail_list(output_tail(bed.output), &lines);
	assert_text_freed(str_list_join(&lines, "|"), "bad key: ***|and can");
	str_list_finish(&lines);
	close_bed(&bed);
	mask_words_destroy(words);
}

static void assert_begins(void **state, const char *file, const char *beginning)
{
	char *text cleanup_free = fs_read_file(scratch_path(state, file), 1000, NULL, NULL);

	assert_non_null(text);
	text[strlen(beginning)] = '\0';
	assert_string_equal(text, beginning);
}

static void files_are_rotated_between_lines(void **state)
{
	struct output_options options = {.rotate_bytes = 10, .keep = 2};
	struct bed bed;

	open_bed(&bed, scratch_path(state, "stdout"), &options);
	put(&bed, "aaaa\nbb\n"); /* 8 bytes: fit */
	put(&bed, "cc\ndd");	 /* the line's end goes with the old file, the rest begins a new */
	assert_file(state, "stdout", "dd");
	assert_file(state, "stdout.1", "aaaa\nbb\ncc\n");
	put(&bed, "eeeeeeee\nf");
	put(&bed, "gggggggggggg\nh");
	assert_file(state, "stdout", "h");
	assert_file(state, "stdout.1", "fgggggggggggg\n");
	assert_file(state, "stdout.2", "ddeeeeeeee\n");
	assert_false(fs_exists(scratch_path(state, "stdout.3")));
	assert_begins(state, "stdout.2.times", "from 11\n");
	assert_begins(state, "stdout.1.times", "from 22\n");
	assert_begins(state, "stdout.times", "from 36\n");
	close_bed(&bed);
}

static void without_kept_files_it_starts_over(void **state)
{
	struct output_options options = {.rotate_bytes = 4, .keep = 0};
	struct bed bed;

	open_bed(&bed, scratch_path(state, "stdout"), &options);
	put(&bed, "abcd\n");
	put(&bed, "ef");
	assert_file(state, "stdout", "ef");
	assert_false(fs_exists(scratch_path(state, "stdout.1")));
	assert_begins(state, "stdout.times", "from 5\n");
	close_bed(&bed);
}

static void put_lines(struct bed *bed, int from, int to)
{
	for (int i = from; i < to; i++) {
		char *line cleanup_free = mem_printf("line %06d of a program that prints\n", i);
		put(bed, line);
	}
}

static int64_t count_whole_lines(const char *text)
{
	int64_t count = 0;

	for (; (text = strstr(text, " of a program that prints\n")); text++)
		count++;
	return count;
}

static void assert_no_loss(const struct bed *bed)
{
	assert_int_equal(output_loss(bed->output)->count.bytes, 0);
}

/* The output looks by itself whether there is room again. */
static void wait_for(const struct bed *bed, void **state, const char *name, const char *text)
{
	for (bool found = false; !found;) {
		assert_int_equal(event_base_loop(bed->base, EVLOOP_ONCE), 0);
		char *file cleanup_free = scratch_read(state, name);
		found = strstr(file, text) != NULL;
	}
}

/* promise: R57 */
static void what_a_full_disk_held_up_is_written_when_there_is_room(void **state)
{
	struct output_options options = {0};
	struct bed bed;

	scratch_mount(state, "disk", 64);
	open_bed(&bed, scratch_path(state, "disk/stdout"), &options);
	put(&bed, "before\n");
	scratch_fill(state, "disk/fill");
	put_lines(&bed, 0, 200); /* more than the page that the file has */
	unlink(scratch_path(state, "disk/fill"));
	wait_for(&bed, state, "disk/stdout", "line 000199 of a program that prints\n");
	put(&bed, "behind\n");
	assert_no_loss(&bed);
	char *text cleanup_free = scratch_read(state, "disk/stdout");
	assert_int_equal(strlen(text), strlen("before\n") + 200 * 37 + strlen("behind\n"));
	assert_int_equal(strncmp(text, "before\nline 000000 of", 21), 0);
	assert_null(strstr(text, "[tony:"));
	close_bed(&bed);
}

/* promise: R57 */
static void a_mark_stands_where_lines_were_lost_and_the_newest_follow(void **state)
{
	struct output_options options = {.tail_lines = 5};
	struct str_list lines cleanup_str_list = {0};
	struct bed bed;

	scratch_mount(state, "disk", 512);
	open_bed(&bed, scratch_path(state, "disk/stdout"), &options);
	put(&bed, "unfinished");
	scratch_fill(state, "disk/fill");
	put_lines(&bed, 0, 10000); /* 370,000 bytes */
	unlink(scratch_path(state, "disk/fill"));
	wait_for(&bed, state, "disk/stdout", "line 009999 of a program that prints\n");
	const struct output_loss *loss = output_loss(bed.output);
	assert_true(loss->count.lines > 0 && loss->count.bytes < 370000 - BACKLOG_CAP / 2);
	assert_text_has(loss->why, "no space left on ");
	char *text cleanup_free = scratch_read(state, "disk/stdout");
	char *told cleanup_free = output_loss_text(loss, "this");
	char *mark cleanup_free = mem_printf("\n[tony: %s]\nline ", told);
	assert_text_has(text, mark);
	/* Whole lines, and all that are not counted as lost. */
	assert_int_equal(count_whole_lines(text), 10000 - loss->count.lines);
	/* What the exit report needs is there all the same. */
	tail_list(output_tail(bed.output), &lines);
	assert_int_equal(lines.count, 5);
	close_bed(&bed);
}

/* promise: R57 */
static void a_disk_that_stays_full_has_the_mark_at_the_end_of_the_log(void **state)
{
	struct output_options options = {0};
	struct bed bed;

	scratch_mount(state, "disk", 64);
	open_bed(&bed, scratch_path(state, "disk/stdout"), &options);
	put_lines(&bed, 0, 3000);
	char *before cleanup_free = scratch_read(state, "disk/stdout");
	output_drain(bed.output);
	const struct output_loss *loss = output_loss(bed.output);
	char *text cleanup_free = scratch_read(state, "disk/stdout");
	char *told cleanup_free = output_loss_text(loss, "this");
	char *mark cleanup_free = mem_printf("prints\n[tony: %s] ", told);
	assert_text_has(text, mark);
	assert_int_equal(strlen(text), strlen(before)); /* readers are where they were */
	assert_string_equal(text + strlen(text) - 2, " \n");
	assert_int_equal(count_whole_lines(text), 3000 - loss->count.lines);
	close_bed(&bed);
}

/* Of this process's files; a disk's room comes in blocks. */
static void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* promise: R57 */
static void a_mark_that_is_overwritten_is_told_anew_and_is_no_line(void **state)
{
	struct output_options options = {0};
	struct bed bed;

	signal(SIGXFSZ, SIG_IGN);
	open_bed(&bed, scratch_path(state, "stdout"), &options);
	put_lines(&bed, 0, 100);
	put(&bed, "line 000100 of ");
	limit_files(100 * 37 + 15);
	put(&bed, "a program that prints\n");
	put_lines(&bed, 101, 10000);
	limit_files(100 * 37 + 15 + 160); /* there is room for the mark, and for no line */
	wait_for(&bed, state, "stdout", "[tony: ");
	output_drain(bed.output);
	limit_files(RLIM_INFINITY);
	const struct output_loss *loss = output_loss(bed.output);
	char *text cleanup_free = scratch_read(state, "stdout");
	char *told cleanup_free = output_loss_text(loss, "this");
	char *mark cleanup_free = mem_printf("\n[tony: %s] ", told);
	assert_text_has(text, mark);
	assert_null(strstr(strstr(text, "[tony: ") + 1, "[tony: "));
	assert_int_equal(count_whole_lines(text), 10000 - loss->count.lines);
	close_bed(&bed);
}

static void a_file_that_was_never_written_tells_its_loss_at_the_end(void **state)
{
	struct output_options options = {0};
	struct bed bed;

	assert_int_equal(symlink("/dev/full", scratch_path(state, "stderr")), 0);
	open_bed(&bed, scratch_path(state, "stderr"), &options);
	put(&bed, "0123456789\n");
	put(&bed, "0123456789\n");
	assert_no_loss(&bed); /* not yet */
	output_drain(bed.output);
	assert_int_equal(output_loss(bed.output)->count.bytes, 22);
	assert_int_equal(output_loss(bed.output)->count.lines, 2);
	close_bed(&bed);
}

static void one_lost_line_is_told_as_one(void **state)
{
	const struct output_loss one = {.count = {.lines = 1, .bytes = 2}, .why = "disk full"};
	const struct output_loss two = {.count = {.lines = 2, .bytes = 4}, .why = "disk full"};
	char *of_one cleanup_free = output_loss_text(&one, "its");
	char *of_two cleanup_free = output_loss_text(&two, "its");

	assert_text_has(of_one, "1 line (2 B) of its output was lost between ");
	assert_text_has(of_two, "2 lines (4 B) of its output were lost between ");
}

static void a_directory_that_comes_late_costs_nothing(void **state)
{
	struct output_options options = {0};
	struct bed bed;

	open_bed(&bed, scratch_path(state, "missing/stdout"), &options);
	put(&bed, "first\n");
	scratch_write(state, "missing/other", "", 0600); /* makes the directory */
	put(&bed, "second\n");
	output_drain(bed.output);
	assert_no_loss(&bed);
	assert_file(state, "missing/stdout", "first\nsecond\n");
	close_bed(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(output_is_appended),
		scratch_test(what_is_in_the_pipe_at_the_end_is_kept),
		scratch_test(noise_is_left_out_line_by_line),
		scratch_test(secrets_are_masked_in_the_file_and_the_tail),
		scratch_test(files_are_rotated_between_lines),
		scratch_test(without_kept_files_it_starts_over),
		scratch_test(what_a_full_disk_held_up_is_written_when_there_is_room),
		scratch_test(a_mark_stands_where_lines_were_lost_and_the_newest_follow),
		scratch_test(a_disk_that_stays_full_has_the_mark_at_the_end_of_the_log),
		scratch_test(a_mark_that_is_overwritten_is_told_anew_and_is_no_line),
		scratch_test(a_file_that_was_never_written_tells_its_loss_at_the_end),
		scratch_test(one_lost_line_is_told_as_one),
		scratch_test(a_directory_that_comes_late_costs_nothing),
	};

	return cmocka_run_group_tests_name("output", tests, NULL, NULL);
}
