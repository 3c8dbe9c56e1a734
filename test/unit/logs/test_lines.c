/* Log files read through their rotated parts while they grow; several of them as one stream. */
#include "../base/scratch.h"
#include "../base/test.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "logs/file.h"
#include "logs/lines.h"
#include "logs/merge.h"

/* All lines there are now, joined by "|", with their times where they are known. */
static char *read_all(struct log_lines *lines, bool to_the_end)
{
	struct str text = {0};
	struct log_line line;

	while (log_lines_next(lines, to_the_end, &line)) {
		if (text.length > 0)
			str_append_char(&text, '|');
		if (line.time_ms > 0)
			str_append_format(&text, "%" PRId64 " ", line.time_ms);
		str_append_bytes(&text, line.text, line.length);
	}
	return str_steal(&text);
}

static struct log_lines *open_lines(void **state)
{
	return log_lines_create(log_file_open(scratch_path(state, "stdout")));
}

static void lines_come_through_all_parts_oldest_first(void **state)
{
	struct log_lines *lines = open_lines(state);

	scratch_write(state, "stdout.2", "a\nb\n", 0600);
	scratch_write(state, "stdout.1", "\nc\n", 0600);
	scratch_write(state, "stdout", "d\ne", 0600);
	assert_text_freed(read_all(lines, true), "a|b||c|d|e");
	assert_text_freed(read_all(lines, true), "");
	log_lines_destroy(lines);
}

/* As of a search: what it passed over lies between them. */
struct pieces {
	struct log_source base;
	size_t next;
};

static bool next_piece(struct log_source *base, size_t most, struct log_span *span)
{
	static const struct log_span all[] = {
		{.bytes = "fir", .length = 3, .part = 1, .offset = 0},
		{.bytes = "st", .length = 2, .part = 1, .offset = 3},
		{.bytes = "second\n", .length = 7, .part = 1, .offset = 100},
	};
	struct pieces *pieces = (struct pieces *)base;

	if (pieces->next == array_length(all))
		return false;
	*span = all[pieces->next++];
	return true;
}

static void free_pieces(struct log_source *base)
{
	free(base);
}

static void bytes_from_further_below_begin_a_line(void **state)
{
	static const struct log_source_ops ops = {.next = next_piece, .destroy = free_pieces};
	struct pieces *pieces = mem_alloc(sizeof(*pieces));

	pieces->base.ops = &ops;
	struct log_lines *lines = log_lines_create(&pieces->base);
	assert_text_freed(read_all(lines, true), "first|second");
	log_lines_destroy(lines);
}

static void a_file_may_come_later_and_grow(void **state)
{
	struct log_lines *lines = open_lines(state);

	assert_text_freed(read_all(lines, false), "");
	scratch_append(state, "stdout", "one\ntw");
	assert_text_freed(read_all(lines, false), "one");
	scratch_append(state, "stdout", "o\nthree");
	assert_text_freed(read_all(lines, false), "two");
	assert_text_freed(read_all(lines, true), "three");
	log_lines_destroy(lines);
}

static void rotation_while_reading_loses_nothing(void **state)
{
	struct log_lines *lines = open_lines(state);

	scratch_append(state, "stdout", "a\n");
	assert_text_freed(read_all(lines, false), "a");
	scratch_append(state, "stdout", "b\n");
	scratch_rename(state, "stdout", "stdout.1");
	/* In the middle of a rotation there is no file of that name. */
	assert_text_freed(read_all(lines, false), "b");
	scratch_append(state, "stdout", "c\n");
	scratch_rename(state, "stdout.1", "stdout.2");
	scratch_rename(state, "stdout", "stdout.1");
	scratch_append(state, "stdout", "d\n");
	assert_text_freed(read_all(lines, false), "c|d");
	log_lines_destroy(lines);
}

static void a_rotation_that_broke_off_hides_no_part(void **state)
{
	struct log_lines *lines = open_lines(state);

	scratch_write(state, "stdout.3", "a\n", 0600);
	scratch_write(state, "stdout.1", "b\n", 0600); /* .2 is missing */
	scratch_write(state, "stdout", "c\n", 0600);
	assert_text_freed(read_all(lines, false), "a|b|c");
	log_lines_destroy(lines);
}

/* A socket cannot be opened, not even by root. */
static void a_part_that_refuses_to_be_opened_does_not_stop_the_others(void **state)
{
	struct log_lines *lines = open_lines(state);

	assert_int_equal(mknod(scratch_path(state, "stdout.1"), S_IFSOCK | 0600, 0), 0);
	scratch_write(state, "stdout", "c\n", 0600);
	assert_text_freed(read_all(lines, false), "c");
	log_lines_destroy(lines);
}

static void after_a_deleted_part_the_oldest_is_next(void **state)
{
	struct log_lines *lines = open_lines(state);

	scratch_append(state, "stdout", "a\n");
	assert_text_freed(read_all(lines, false), "a");
	assert_int_equal(unlink(scratch_path(state, "stdout")), 0);
	scratch_write(state, "stdout.1", "b\n", 0600);
	scratch_write(state, "stdout", "c\n", 0600);
	assert_text_freed(read_all(lines, false), "b|c");
	log_lines_destroy(lines);
}

/* ---- long lines --------------------------------------------------------------------------- */

static void a_line_over_the_cap_comes_in_pieces(void **state)
{
	struct log_lines *lines = open_lines(state);
	char *text cleanup_free = mem_alloc(LOG_LINE_CAP + 11);
	struct log_line line;

	memset(text, 'x', LOG_LINE_CAP + 5);
	memcpy(text + LOG_LINE_CAP + 5, "\nnext", 6);
	scratch_write(state, "stdout", text, 0600);
	assert_true(log_lines_next(lines, false, &line));
	assert_int_equal(line.length, LOG_LINE_CAP);
	assert_true(log_lines_next(lines, false, &line));
	assert_int_equal(line.length, 5);
	assert_text_freed(read_all(lines, true), "next");
	log_lines_destroy(lines);
}

/* "x", and so many characters of two bytes. */
static void append_long(struct str *text, int count)
{
	str_append(text, "x");
	for (int i = 0; i < count; i++)
		str_append(text, "é");
}

/* All pieces of one line, "<" where one continues, ">" where it goes on; as they stand in `whole`.
 */
static char *read_pieces(struct log_lines *lines, const struct str *whole)
{
	struct str shape = {0};
	struct log_line line;
	size_t length = 0;

	while (log_lines_next(lines, true, &line)) {
		assert_true(str_is_utf8(line.text, line.length));
		assert_true(length + line.length <= whole->length);
		assert_memory_equal(line.text, whole->text + length, line.length);
		length += line.length + line.has_newline;
		str_append_format(&shape, "%s%zu%s", line.continues ? "<" : "", line.length,
				  line.goes_on ? ">" : " ");
	}
	assert_int_equal(length, whole->length);
	return str_steal(&shape);
}

static void a_long_line_is_cut_between_characters(void **state)
{
	struct str text cleanup_str = {0};
	struct log_lines *lines = open_lines(state);

	append_long(&text, 100000);
	str_append(&text, "\nend\n");
	scratch_write(state, "stdout", text.text, 0600);
	assert_text_freed(read_pieces(lines, &text), "65535><65536><65536><3394 3 ");
	log_lines_destroy(lines);
}

static void a_line_of_just_the_cap_is_whole(void **state)
{
	struct str text cleanup_str = {0};
	struct log_lines *lines = open_lines(state);

	for (int i = 0; i < LOG_LINE_CAP; i++)
		str_append(&text, "x");
	str_append(&text, "\n");
	scratch_write(state, "stdout", text.text, 0600);
	assert_text_freed(read_pieces(lines, &text), "65536 ");
	log_lines_destroy(lines);
}

/* Files change within a line that is longer than what an executor reads at a time. */
static void a_line_goes_on_in_the_next_part(void **state)
{
	struct log_lines *lines = open_lines(state);
	struct log_line line;

	scratch_write(state, "stdout.1", "a\nbe", 0600);
	scratch_write(state, "stdout", "gun\n", 0600);
	assert_true(log_lines_next(lines, false, &line));
	assert_true(log_lines_next(lines, false, &line));
	assert_true(line.length == 2 && line.goes_on && !line.continues);
	assert_true(log_lines_next(lines, false, &line));
	assert_true(line.length == 3 && line.continues && line.has_newline && !line.goes_on);
	log_lines_destroy(lines);
}

/* No memory for all of it, whatever stands in it. */
static void a_line_may_have_any_length(void **state)
{
	struct log_lines *lines = open_lines(state);
	const int64_t length = INT64_C(1) << 28;
	struct rusage before, after;
	struct log_line line;
	int64_t told = 0;

	scratch_write(state, "stdout", "", 0600);
	assert_int_equal(truncate(scratch_path(state, "stdout"), length), 0);
	scratch_append(state, "stdout", "\n");
	getrusage(RUSAGE_SELF, &before);
	do {
		assert_true(log_lines_next(lines, false, &line));
		told += (int64_t)line.length;
	} while (line.goes_on);
	getrusage(RUSAGE_SELF, &after);
	assert_true(told == length && line.has_newline);
	assert_true(after.ru_maxrss - before.ru_maxrss < 1024); /* KiB */
	log_lines_destroy(lines);
}

static void an_unfinished_line_may_be_told_as_a_piece(void **state)
{
	struct log_lines *lines = open_lines(state);
	struct log_line line;

	assert_false(log_lines_take_begun(lines, &line));
	scratch_write(state, "stdout", "50%\xc3", 0600);
	assert_false(log_lines_next(lines, false, &line));
	assert_true(log_lines_take_begun(lines, &line));
	assert_true(line.length == 3 && line.goes_on && !line.continues);
	assert_false(log_lines_next(lines, false, &line));
	assert_false(log_lines_take_begun(lines, &line));
	scratch_append(state, "stdout", "\xa9.\nend\n");
	assert_true(log_lines_next(lines, false, &line));
	assert_true(line.length == 3 && line.continues && line.has_newline);
	assert_memory_equal(line.text, "é.", 3);
	assert_true(log_lines_next(lines, false, &line));
	assert_false(line.continues);
	log_lines_destroy(lines);
}

static void bytes_may_be_anything(void **state)
{
	struct log_lines *lines = open_lines(state);
	int fd = open(scratch_path(state, "stdout"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	struct log_line line;

	assert_int_equal(write(fd, "a\0\xff\nb\n", 6), 6);
	close(fd);
	assert_true(log_lines_next(lines, false, &line));
	assert_int_equal(line.length, 3);
	assert_memory_equal(line.text, "a\0\xff", 3);
	assert_text_freed(read_all(lines, false), "b");
	log_lines_destroy(lines);
}

/* A big file costs no more memory than a small one. */
static void memory_does_not_grow_with_the_file(void **state)
{
	enum { LINES = 400000 }; /* 40 MB */
	FILE *file = fopen(scratch_path(state, "stdout"), "we");
	struct log_lines *lines = open_lines(state);
	struct rusage before, after;
	struct log_line line;
	int count = 0;

	for (int i = 0; i < LINES; i++)
		fprintf(file, "%0100d\n", i);
	fclose(file);
	getrusage(RUSAGE_SELF, &before);
	while (log_lines_next(lines, false, &line))
		count++;
	getrusage(RUSAGE_SELF, &after);
	assert_int_equal(count, LINES);
	assert_true(after.ru_maxrss - before.ru_maxrss < 4096); /* KiB */
	log_lines_destroy(lines);
}

/* ---- times -------------------------------------------------------------------------------- */

static void lines_have_the_time_of_the_entry_before_them(void **state)
{
	struct log_lines *lines = open_lines(state);

	scratch_write(state, "stdout.1", "a\nb\n", 0600);
	scratch_write(state, "stdout.1.times", "1000 0\n1200 2\n", 0600);
	scratch_write(state, "stdout", "c\nlong\nd\n", 0600);
	scratch_write(state, "stdout.times", "2000 0\n2100 4\n2200 7\n", 0600);
	assert_text_freed(read_all(lines, false), "1000 a|1200 b|2000 c|2000 long|2200 d");
	log_lines_destroy(lines);
}

static void times_grow_with_the_file(void **state)
{
	struct log_lines *lines = open_lines(state);

	scratch_append(state, "stdout.times", "1000 0\n");
	scratch_append(state, "stdout", "a\n");
	assert_text_freed(read_all(lines, false), "1000 a");
	scratch_append(state, "stdout.times", "15"); /* torn: the rest is on its way */
	scratch_append(state, "stdout", "b\n");
	assert_text_freed(read_all(lines, false), "1000 b");
	scratch_append(state, "stdout.times", "00 4\n");
	scratch_append(state, "stdout", "c\n");
	assert_text_freed(read_all(lines, false), "1500 c");
	log_lines_destroy(lines);
}

/* An executor makes it right after the log, and before there are bytes. */
static void an_index_may_come_after_its_log(void **state)
{
	struct log_lines *lines = open_lines(state);

	scratch_write(state, "stdout", "", 0600);
	assert_text_freed(read_all(lines, false), "");
	scratch_write(state, "stdout.times", "1000 0\n", 0600);
	scratch_append(state, "stdout", "a\n");
	assert_text_freed(read_all(lines, false), "1000 a");
	log_lines_destroy(lines);
}

static void a_spoilt_index_does_no_harm(void **state)
{
	struct log_lines *lines = open_lines(state);

	scratch_write(state, "stdout", "a\nb\nc\n", 0600);
	scratch_write(state, "stdout.times",
		      "rubbish\n"
		      "1000 0\n"
		      "\n"
		      "99999999999999999999999999999999999999999999999999999999999999999999999 1\n"
		      "1200 4\n"
		      "13",
		      0600);
	char *text cleanup_free = read_all(lines, false);
	assert_text_has(text, "1000 a|");
	assert_text_has(text, "|1200 c");
	log_lines_destroy(lines);
}

static void without_an_index_times_are_unknown(void **state)
{
	struct log_lines *lines = open_lines(state);

	scratch_write(state, "stdout", "a\n", 0600);
	assert_text_freed(read_all(lines, false), "a");
	log_lines_destroy(lines);
}

/* ---- the tail ----------------------------------------------------------------------------- */

static struct log_lines *open_tail(void **state, int64_t lines)
{
	const struct log_position tail = {.kind = LOG_AT_TAIL, .number = lines};
	struct log_source *file = log_file_open(scratch_path(state, "stdout"));

	log_source_go(file, &tail);
	return log_lines_create(file);
}

static void assert_tail(void **state, int64_t count, const char *expected)
{
	struct log_lines *lines = open_tail(state, count);
	char *text cleanup_free = read_all(lines, true);
	assert_string_equal(text, expected);
	log_lines_destroy(lines);
}

static void the_tail_reaches_into_older_parts(void **state)
{
	assert_tail(state, 3, "");
	scratch_write(state, "stdout.2", "a\nb\n", 0600);
	scratch_write(state, "stdout.1", "c\nd\n", 0600);
	scratch_write(state, "stdout", "e\nf", 0600);
	assert_tail(state, 0, "");
	assert_tail(state, 1, "f");
	assert_tail(state, 2, "e|f");
	assert_tail(state, 3, "d|e|f");
	assert_tail(state, 5, "b|c|d|e|f");
	assert_tail(state, 6, "a|b|c|d|e|f");
	assert_tail(state, 100, "a|b|c|d|e|f");
}

static void an_empty_file_has_no_line(void **state)
{
	scratch_write(state, "stdout.1", "a\nb\n", 0600);
	scratch_write(state, "stdout", "", 0600);
	assert_tail(state, 1, "b");
	assert_tail(state, 2, "a|b");
}

static void the_tail_has_its_times(void **state)
{
	scratch_write(state, "stdout", "a\nb\nc\n", 0600);
	scratch_write(state, "stdout.times", "1000 0\n2000 2\n3000 4\n", 0600);
	assert_tail(state, 2, "2000 b|3000 c");
}

/* Each line has an entry in the index, which is longer than what is read of it in one go. */
static void a_tail_far_from_the_end_is_found(void **state)
{
	static const int firsts[] = {1, 1234, 5000, 19998};
	FILE *file = fopen(scratch_path(state, "stdout"), "we");
	FILE *times = fopen(scratch_path(state, "stdout.times"), "we");
	struct log_line line;

	for (int i = 0; i < 20000; i++) {
		fprintf(times, "%d %ld\n", 1000 + i, ftell(file));
		fprintf(file, "line %d\n", i);
	}
	fclose(file);
	fclose(times);
	for (size_t i = 0; i < array_length(firsts); i++) {
		struct log_lines *lines = open_tail(state, 20000 - firsts[i]);
		char *text cleanup_free = mem_printf("line %d", firsts[i]);
		assert_true(log_lines_next(lines, true, &line));
		assert_int_equal(line.length, strlen(text));
		assert_memory_equal(line.text, text, line.length);
		assert_int_equal(line.time_ms, 1000 + firsts[i]);
		log_lines_destroy(lines);
	}
}

/* ---- a writer that rotates meanwhile ------------------------------------------------------ */

enum { WRITTEN = 20000, PER_PART = 50, PARTS = WRITTEN / PER_PART };

struct writer {
	char *path;
	bool done;
};

static void rotate(const struct writer *writer, int parts)
{
	for (int i = parts; i > 0; i--) {
		char *to cleanup_free = mem_printf("%s.%d", writer->path, i);
		char *from cleanup_free = i == 1 ? mem_strdup(writer->path)
						 : mem_printf("%s.%d", writer->path, i - 1);
		rename(from, to);
	}
}

static void *write_and_rotate(void *data)
{
	struct writer *writer = data;

	for (int part = 0; part < PARTS; part++) {
		rotate(writer, part);
		FILE *file = fopen(writer->path, "we");
		for (int i = 0; i < PER_PART; i++)
			fprintf(file, "%d\n", part * PER_PART + i);
		fclose(file);
	}
	__atomic_store_n(&writer->done, true, __ATOMIC_RELEASE);
	return NULL;
}

static void a_fast_writer_is_followed_line_by_line(void **state)
{
	struct writer writer = {.path = mem_strdup(scratch_path(state, "stdout"))};
	struct log_lines *lines = open_lines(state);
	struct log_line line;
	pthread_t thread;
	int expected = 0;

	assert_int_equal(pthread_create(&thread, NULL, write_and_rotate, &writer), 0);
	for (bool last = false; !last;) {
		last = __atomic_load_n(&writer.done, __ATOMIC_ACQUIRE);
		while (log_lines_next(lines, false, &line))
			assert_int_equal(atoi(line.text), expected++);
	}
	pthread_join(thread, NULL);
	assert_int_equal(expected, WRITTEN);
	log_lines_destroy(lines);
	free(writer.path);
}

/* ---- several files ------------------------------------------------------------------------ */

static char *merge_all(struct log_merge *merge, bool to_the_end)
{
	struct str text = {0};
	struct log_line line;
	const void *label;

	while (log_merge_next(merge, to_the_end, &line, &label)) {
		str_append_format(&text, "%s%s", text.length > 0 ? "|" : "", (const char *)label);
		str_append_bytes(&text, line.text, line.length);
	}
	return str_steal(&text);
}

static void files_are_merged_by_time(void **state)
{
	struct log_merge *merge = log_merge_create();

	scratch_write(state, "a", "1\n3\n5\n", 0600);
	scratch_write(state, "a.times", "100 0\n300 2\n500 4\n", 0600);
	scratch_write(state, "b", "2\n4\n", 0600);
	scratch_write(state, "b.times", "200 0\n400 2\n", 0600);
	log_merge_add(merge, log_file_open(scratch_path(state, "a")), "a:", -1);
	log_merge_add(merge, log_file_open(scratch_path(state, "b")), "b:", -1);
	assert_text_freed(merge_all(merge, false), "a:1|b:2|a:3|b:4|a:5");
	log_merge_destroy(merge);
}

static void at_the_same_time_files_keep_their_order(void **state)
{
	struct log_merge *merge = log_merge_create();

	scratch_write(state, "a", "1\n2\n", 0600);
	scratch_write(state, "b", "3\n4\n", 0600);
	log_merge_add(merge, log_file_open(scratch_path(state, "a")), "", -1);
	log_merge_add(merge, log_file_open(scratch_path(state, "b")), "", -1);
	assert_text_freed(merge_all(merge, false), "1|2|3|4");
	log_merge_destroy(merge);
}

static void the_line_that_was_begun_last_can_be_seen(void **state)
{
	struct log_merge *merge = log_merge_create();
	struct log_line line;
	const void *label;

	scratch_write(state, "a", "1\n2", 0600);
	scratch_write(state, "a.times", "100 0\n300 2\n", 0600);
	scratch_write(state, "b", "0", 0600);
	scratch_write(state, "b.times", "200 0\n", 0600);
	log_merge_add(merge, log_file_open(scratch_path(state, "a")), "a:", -1);
	log_merge_add(merge, log_file_open(scratch_path(state, "b")), "b:", -1);
	assert_false(log_merge_begun(merge, &line, &label));
	assert_text_freed(merge_all(merge, false), "a:1");
	assert_true(log_merge_begun(merge, &line, &label));
	assert_string_equal(label, "a:");
	assert_int_equal(line.length, 1);
	assert_int_equal(line.text[0], '2');
	scratch_append(state, "a", "\n");
	assert_text_freed(merge_all(merge, false), "a:2");
	assert_true(log_merge_begun(merge, &line, &label));
	assert_string_equal(label, "b:");
	assert_text_freed(merge_all(merge, true), "b:0");
	assert_false(log_merge_begun(merge, &line, &label));
	log_merge_destroy(merge);
}

/* Of the descriptors that are open now, and so many more. */
static struct rlimit take_descriptors(rlim_t more)
{
	struct rlimit before, few;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	int next cleanup_close = open("/dev/null", O_RDONLY | O_CLOEXEC);
	few = before;
	few.rlim_cur = (rlim_t)next + more;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	return before;
}

/* One line of each log after the other: every fifth is too long to be kept while its log rests. */
static void the_pieces_of_a_line_stay_together(void **state)
{
	struct log_merge *merge = log_merge_create();
	struct str text cleanup_str = {0}, expected cleanup_str = {0};
	struct log_line line;
	const void *label;

	append_long(&text, 50000);
	str_append(&text, "\n");
	scratch_write(state, "a", text.text, 0600);
	scratch_write(state, "a.times", "100 0\n300 70000\n", 0600);
	scratch_write(state, "b", "1\n2\n", 0600);
	scratch_write(state, "b.times", "200 0\n", 0600);
	log_merge_add(merge, log_file_open(scratch_path(state, "a")), "a", -1);
	log_merge_add(merge, log_file_open(scratch_path(state, "b")), "b", -1);
	while (log_merge_next(merge, false, &line, &label))
		str_append(&expected, label);
	assert_string_equal(expected.text, "aabb");
	log_merge_destroy(merge);
}

static void many_logs_need_few_descriptors(void **state)
{
	enum { LOGS = 300, LINES = 12, LONG = 9000 };
	const struct rlimit before = take_descriptors(4);
	struct log_merge *merge = log_merge_create();
	struct log_line line;
	const void *label;

	for (int log = 0; log < LOGS; log++) {
		struct str text cleanup_str = {0}, times cleanup_str = {0};
		char *name cleanup_free = mem_printf("%d", log);
		char *index cleanup_free = mem_printf("%d.times", log);
		for (int i = 0; i < LINES; i++) {
			str_append_format(&times, "%d %zu\n", 1000 * (i + 1) + log, text.length);
			str_append_format(&text, "%0*d\n", i % 5 ? 70 : LONG, i * LOGS + log);
		}
		scratch_write(state, name, text.text, 0600);
		scratch_write(state, index, times.text, 0600);
		log_merge_add(merge, log_file_open(scratch_path(state, name)), "", -1);
	}
	for (int i = 0; i < LOGS * LINES; i++) {
		assert_true(log_merge_next(merge, false, &line, &label));
		assert_int_equal(line.length, i / LOGS % 5 ? 70 : LONG);
		assert_int_equal(strtol(line.text, NULL, 10), i);
	}
	assert_false(log_merge_next(merge, false, &line, &label));
	assert_null(log_merge_problem(merge));
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	log_merge_destroy(merge);
}

/* Bytes that nobody can read are not bytes that are not there. */
static void a_log_without_a_descriptor_is_no_empty_log(void **state)
{
	struct log_merge *merge = log_merge_create();
	struct log_line line;
	const void *label;

	scratch_write(state, "a", "1\n", 0600);
	log_merge_add(merge, log_file_open(scratch_path(state, "a")), "", -1);
	log_merge_add(merge, log_file_open(scratch_path(state, "not there")), "", -1);
	const struct rlimit before = take_descriptors(0);
	assert_false(log_merge_next(merge, true, &line, &label));
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_non_null(strstr(log_merge_problem(merge), "Too many open files"));
	log_merge_destroy(merge);
}

static void a_merge_goes_on_when_files_grow(void **state)
{
	struct log_merge *merge = log_merge_create();

	scratch_write(state, "a", "1\n2", 0600);
	log_merge_add(merge, log_file_open(scratch_path(state, "a")), "a:", -1);
	assert_text_freed(merge_all(merge, false), "a:1");
	scratch_write(state, "b", "x\ny\nz\n", 0600);
	log_merge_add(merge, log_file_open(scratch_path(state, "b")), "b:", 1);
	scratch_append(state, "a", "\n");
	assert_text_freed(merge_all(merge, false), "a:2|b:z");
	scratch_append(state, "b", "end");
	assert_text_freed(merge_all(merge, true), "b:end");
	log_merge_destroy(merge);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(lines_come_through_all_parts_oldest_first),
		scratch_test(a_file_may_come_later_and_grow),
		scratch_test(bytes_from_further_below_begin_a_line),
		scratch_test(rotation_while_reading_loses_nothing),
		scratch_test(a_rotation_that_broke_off_hides_no_part),
		scratch_test(a_part_that_refuses_to_be_opened_does_not_stop_the_others),
		scratch_test(after_a_deleted_part_the_oldest_is_next),
		scratch_test(a_line_over_the_cap_comes_in_pieces),
		scratch_test(a_long_line_is_cut_between_characters),
		scratch_test(a_line_of_just_the_cap_is_whole),
		scratch_test(a_line_goes_on_in_the_next_part),
		scratch_test(a_line_may_have_any_length),
		scratch_test(an_unfinished_line_may_be_told_as_a_piece),
		scratch_test(bytes_may_be_anything),
		scratch_test(memory_does_not_grow_with_the_file),
		scratch_test(lines_have_the_time_of_the_entry_before_them),
		scratch_test(times_grow_with_the_file),
		scratch_test(an_index_may_come_after_its_log),
		scratch_test(a_spoilt_index_does_no_harm),
		scratch_test(without_an_index_times_are_unknown),
		scratch_test(the_tail_reaches_into_older_parts),
		scratch_test(an_empty_file_has_no_line),
		scratch_test(the_tail_has_its_times),
		scratch_test(a_tail_far_from_the_end_is_found),
		scratch_test(a_fast_writer_is_followed_line_by_line),
		scratch_test(files_are_merged_by_time),
		scratch_test(at_the_same_time_files_keep_their_order),
		scratch_test(the_pieces_of_a_line_stay_together),
		scratch_test(many_logs_need_few_descriptors),
		scratch_test(a_log_without_a_descriptor_is_no_empty_log),
		scratch_test(a_merge_goes_on_when_files_grow),
		scratch_test(the_line_that_was_begun_last_can_be_seen),
	};

	return cmocka_run_group_tests_name("log source", tests, NULL, NULL);
}
