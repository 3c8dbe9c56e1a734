/* A log read through its parts, from a position that may have been told elsewhere. */
#include "../base/scratch.h"
#include "../base/test.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "logs/file.h"
#include "logs/names.h"

static char *read_all(struct log_source *reader, size_t most)
{
	struct str text = {0};
	struct log_span span;

	while (log_source_next(reader, most, &span))
		str_append_bytes(&text, span.bytes, span.length);
	return str_steal(&text);
}

static void assert_read(void **state, const char *position, const char *expected)
{
	struct log_source *reader = log_file_open(scratch_path(state, "stdout"));

	assert_int_equal(log_source_seek(reader, position), 0);
	assert_text_freed(read_all(reader, 3), expected);
	log_source_destroy(reader);
}

/* In the index of the oldest part that is there. */
static void what_stood_before_the_oldest_part_is_told(void **state)
{
	scratch_write(state, "stdout.1", "c\n", 0600);
	scratch_write(state, "stdout.1.times", "from 4\n5000 0\n", 0600);
	scratch_write(state, "stdout", "d\n", 0600);
	scratch_write(state, "stdout.times", "from 6\n6000 0\n", 0600);
	struct log_source *reader = log_file_open(scratch_path(state, "stdout"));
	struct log_span span;
	assert_int_equal(reader->cut, 4);
	assert_true(log_source_next(reader, 100, &span));
	assert_int_equal(span.time_ms, 5000);
	log_source_destroy(reader);
	unlink(scratch_path(state, "stdout.1"));
	reader = log_file_open(scratch_path(state, "stdout"));
	assert_int_equal(reader->cut, 6);
	log_source_destroy(reader);
	scratch_write(state, "stdout.times", "6000 0\n", 0600);
	reader = log_file_open(scratch_path(state, "stdout"));
	assert_int_equal(reader->cut, 0);
	log_source_destroy(reader);
}

static void positions_are_found(void **state)
{
	scratch_write(state, "stdout.2", "a\nb\n", 0600);
	scratch_write(state, "stdout.1", "c\nd\n", 0600);
	scratch_write(state, "stdout", "e\nf\n", 0600);
	assert_read(state, "oldest", "a\nb\nc\nd\ne\nf\n");
	assert_read(state, "offset:0", "e\nf\n");
	assert_read(state, "offset:2", "f\n");
	assert_read(state, "offset:-1", "\n");
	assert_read(state, "offset:-100", "e\nf\n");
	assert_read(state, "offset:100", "");
	assert_read(state, "tail:0", "");
	assert_read(state, "tail:3", "d\ne\nf\n");
	assert_read(state, "tail:100", "a\nb\nc\nd\ne\nf\n");
	/* Of a part that is gone. */
	assert_read(state, "at:1:7", "a\nb\nc\nd\ne\nf\n");
}

static void no_positions_are_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"newest",
		"offset:",
		"offset:x",
		"tail:-1",
		"at:",
		"at:1",
		"at::1",
		"at:1:",
		"at:1:-1",
		"at:x:1",
		"at:-1:1",
		"at:1:1:1",
		"oldest ",
		"offset:99999999999999999999",
		"at:111111111111111111111111111111111111111111111:1",
	};
	struct log_source *reader = log_file_open(scratch_path(state, "stdout"));

	for (size_t i = 0; i < array_length(texts); i++) {
		assert_false(log_position_is_valid(texts[i]));
		assert_int_equal(log_source_seek(reader, texts[i]), -1);
	}
	log_source_destroy(reader);
}

static void another_reader_goes_on_where_one_was(void **state)
{
	struct log_source *reader = log_file_open(scratch_path(state, "stdout"));
	char position[LOG_POSITION_SIZE];
	struct log_span span;

	log_source_tell(reader, position);
	assert_string_equal(position, "oldest");
	scratch_append(state, "stdout", "0123456789");
	assert_true(log_source_next(reader, 4, &span));
	log_source_tell(reader, position);
	log_source_destroy(reader);
	assert_read(state, position, "456789");
	/* Also when that part is not the newest any more. */
	scratch_rename(state, "stdout", "stdout.1");
	scratch_append(state, "stdout", "next");
	assert_read(state, position, "456789next");
}

static void what_is_not_there_yet_is_waited_for(void **state)
{
	struct log_source *reader = log_file_open(scratch_path(state, "stdout"));

	assert_int_equal(log_source_seek(reader, "offset:4"), 0);
	assert_text_freed(read_all(reader, 100), "");
	scratch_append(state, "stdout", "012345");
	assert_text_freed(read_all(reader, 100), "45");
	log_source_destroy(reader);
}

static void a_truncated_log_is_read_from_its_beginning(void **state)
{
	struct log_source *reader = log_file_open(scratch_path(state, "stdout"));

	scratch_append(state, "stdout", "0123456789");
	assert_text_freed(read_all(reader, 100), "0123456789");
	assert_int_equal(truncate(scratch_path(state, "stdout"), 0), 0);
	scratch_append(state, "stdout", "new");
	assert_text_freed(read_all(reader, 100), "new");
	log_source_destroy(reader);
}

static void what_is_no_file_is_not_read(void **state)
{
	assert_int_equal(mkfifo(scratch_path(state, "stdout"), 0600), 0);
	assert_read(state, "offset:0", "");
	assert_read(state, "oldest", "");
}

/* It would show another file as the program's output. */
static void links_are_not_followed(void **state)
{
	scratch_append(state, "secret", "not the program's");
	assert_int_equal(symlink("secret", scratch_path(state, "stdout")), 0);
	assert_read(state, "offset:0", "");
	assert_read(state, "oldest", "");
}

static void logs_have_names(void **state)
{
	static const char *const none[] = {"",		"stdout.1",  "stdout-",	    "stdout-0",
					   "stdout-01", "stdout-x",  "executor-1",  "executor.log",
					   "../stdout", "stdout/..", "stdout-10001"};

	assert_text_freed(log_file_name("stdout"), "stdout");
	assert_text_freed(log_file_name("stderr-12"), "stderr-12");
	assert_text_freed(log_file_name("executor"), "executor.log");
	for (size_t i = 0; i < array_length(none); i++)
		assert_null(log_file_name(none[i]));
	assert_text_freed(log_name_of_file("executor.log"), "executor");
	assert_text_freed(log_name_of_file("stdout-1"), "stdout-1");
	assert_null(log_name_of_file("stdout.1"));
	assert_null(log_name_of_file("stdout.times"));
	assert_null(log_name_of_file("executor"));
}

/* A history keeps them. */
static void last_bytes_may_lie_in_older_parts(void **state)
{
	static const char all[] = "a\nb\nc\nd\ne\nf\n";

	scratch_write(state, "stdout.2", "a\nb\n", 0600);
	scratch_write(state, "stdout.1", "c\nd\n", 0600);
	scratch_write(state, "stdout", "e\nf\n", 0600);
	for (size_t count = 0; count < 15; count++) {
		const struct log_position last = {.kind = LOG_AT_LAST, .number = (int64_t)count};
		struct log_source *reader = log_file_open(scratch_path(state, "stdout"));
		assert_int_equal(log_source_length(reader), 12);
		log_source_go(reader, &last);
		assert_text_freed(read_all(reader, 100), all + (count < 12 ? 12 - count : 0));
		log_source_destroy(reader);
	}
}

/* An event loop looks for them in turns; the log grows, and is rotated, meanwhile. */
static void the_last_lines_are_found_in_turns(void **state)
{
	struct log_source *reader = log_file_open(scratch_path(state, "stdout"));
	struct str text cleanup_str = {0};
	struct log_span span;
	int turns = 2; /* the first, and the last */

	while (text.length < 6 * LOG_TURN)
		str_append(&text, "\n");
	scratch_write(state, "stdout.2", "a\nb\nc\n", 0600);
	scratch_write(state, "stdout.1", "d\ne\n", 0600);
	scratch_write(state, "stdout", text.text, 0600);
	reader->takes_turns = true;
	char *tail cleanup_free = mem_printf("tail:%d", 6 * LOG_TURN + 3);
	assert_int_equal(log_source_seek(reader, tail), 0);
	scratch_append(state, "stdout", "later\n");
	scratch_rename(state, "stdout.2", "stdout.3");
	scratch_rename(state, "stdout.1", "stdout.2");
	scratch_rename(state, "stdout", "stdout.1");
	scratch_write(state, "stdout", "new\n", 0600);
	for (; !log_source_next(reader, 10, &span); turns++) {
		char position[LOG_POSITION_SIZE];
		assert_true(reader->is_busy);
		log_source_tell(reader, position);
		assert_string_equal(position, tail);
	}
	assert_int_equal(turns, 11); /* 64 KiB, 512 KiB, 1.5 MiB, and one for each short part */
	assert_memory_equal(span.bytes, "c\n", 2);
	char *rest cleanup_free = read_all(reader, LOG_SPAN_MAX);
	assert_memory_equal(rest, "d\ne\n\n", 5);
	assert_string_equal(rest + 4 + text.length, "later\nnew\n");
	log_source_destroy(reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(positions_are_found),
		scratch_test(what_stood_before_the_oldest_part_is_told),
		scratch_test(no_positions_are_refused),
		scratch_test(another_reader_goes_on_where_one_was),
		scratch_test(what_is_not_there_yet_is_waited_for),
		scratch_test(a_truncated_log_is_read_from_its_beginning),
		scratch_test(what_is_no_file_is_not_read),
		scratch_test(links_are_not_followed),
		scratch_test(logs_have_names),
		scratch_test(last_bytes_may_lie_in_older_parts),
		scratch_test(the_last_lines_are_found_in_turns),
	};

	return cmocka_run_group_tests_name("log file", tests, NULL, NULL);
}
