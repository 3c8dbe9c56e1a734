/* Output into rotated files, whatever the disk says. */
#include "../base/scratch.h"
#include "../base/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
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
	close_bed(&bed);
}

static void a_full_disk_is_told_and_survived(void **state)
{
	struct output_options options = {.tail_lines = 5};
	struct str_list lines = {0};
	struct bed bed;
	int error;

	assert_int_equal(symlink("/dev/full", scratch_path(state, "stderr")), 0);
	open_bed(&bed, scratch_path(state, "stderr"), &options);
	put(&bed, "0123456789\n");
	put(&bed, "0123456789\n");
	assert_int_equal(output_lost(bed.output, &error), 22);
	assert_int_equal(error, ENOSPC);
	/* What the exit report needs is there all the same. */
	tail_list(output_tail(bed.output), &lines);
	assert_int_equal(lines.count, 2);
	str_list_finish(&lines);
	close_bed(&bed);
}

static void a_file_that_can_be_written_again_says_what_is_missing(void **state)
{
	struct output_options options = {0};
	struct bed bed;
	int error;

	open_bed(&bed, scratch_path(state, "missing/stdout"), &options);
	put(&bed, "lost");
	scratch_write(state, "missing/other", "", 0600); /* makes the directory */
	put(&bed, "kept\n");
	assert_int_equal(output_lost(bed.output, &error), 4);
	assert_int_equal(error, ENOENT);
	char *text = scratch_read(state, "missing/stdout");
	assert_text_has(text, "output was lost here: No such file or directory");
	assert_text_has(text, "kept\n");
	free(text);
	close_bed(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(output_is_appended),
		scratch_test(what_is_in_the_pipe_at_the_end_is_kept),
		scratch_test(files_are_rotated_between_lines),
		scratch_test(without_kept_files_it_starts_over),
		scratch_test(a_full_disk_is_told_and_survived),
		scratch_test(a_file_that_can_be_written_again_says_what_is_missing),
	};

	return cmocka_run_group_tests_name("output", tests, NULL, NULL);
}
