/* Logs that a cluster has kept, as lines: parts in order, times from the index beside each, the
 * last lines found from the end. */
#include "../base/test.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "logs/filter.h"
#include "logs/merge.h"
#include "logs/parts.h"

struct part {
	const char *text, *times; /* times NULL: there is no index */
};

struct fake_log {
	struct log_parts base;
	const struct part *parts;
	int64_t broken_at; /* of the last part: reading from there on fails; 0: it does not */
	int64_t *bytes_read;
};

static ssize_t read_fake(struct log_parts *log, size_t part, bool times, int64_t offset,
			 void *bytes, size_t length, struct err *err)
{
	struct fake_log *fake = (struct fake_log *)log;
	const char *text = times ? fake->parts[part].times : fake->parts[part].text;
	size_t there = strlen(text) - (size_t)offset;

	if (fake->broken_at > 0 && part + 1 == log->count && offset >= fake->broken_at)
		return err_set(err, ERR_INPUT, "the disk is full of holes");
	if (length > there)
		length = there;
	memcpy(bytes, text + offset, length);
	if (fake->bytes_read)
		*fake->bytes_read += (int64_t)length;
	return (ssize_t)length;
}

static void destroy_fake(struct log_parts *log)
{
	free(log->items);
	free(log);
}

static struct fake_log *make_log(const struct part *parts, size_t count)
{
	static const struct log_parts_ops ops = {.read = read_fake, .destroy = destroy_fake};
	struct fake_log *fake = mem_alloc(sizeof(*fake));

	fake->base =
		(struct log_parts){.ops = &ops,
				   .items = mem_alloc_array(count, sizeof(struct log_parts_item)),
				   .count = count};
	log_parts_init(&fake->base);
	fake->parts = parts;
	for (size_t i = 0; i < count; i++) {
		fake->base.items[i].length = (int64_t)strlen(parts[i].text);
		fake->base.items[i].has_times = parts[i].times != NULL;
	}
	return fake;
}

/* All lines from the last `tail` on (-1: all), joined by "|", with their times where they are
 * known. */
static char *read_lines(const struct part *parts, size_t count, int64_t tail)
{
	struct str text = {0};
	struct log_line line;
	struct log_source *source = &make_log(parts, count)->base.base;
	struct log_lines *lines = log_lines_create(source);
	const struct log_position position = {.kind = LOG_AT_TAIL, .number = tail};

	if (tail >= 0)
		log_source_go(source, &position);
	while (log_lines_next(lines, true, &line)) {
		if (text.length > 0)
			str_append_char(&text, '|');
		if (line.time_ms > 0)
			str_append_format(&text, "%" PRId64 " ", line.time_ms);
		str_append_bytes(&text, line.text, line.length);
	}
	assert_null(source->problem);
	log_lines_destroy(lines);
	return str_steal(&text);
}

static void lines_come_through_all_parts(void **state)
{
	static const struct part parts[] = {{"a\n\nb", NULL}, {"", NULL}, {"c\nd\n", NULL}};

	assert_text_freed(read_lines(parts, 3, -1), "a||b|c|d");
	assert_text_freed(read_lines(parts, 0, -1), "");
	assert_text_freed(read_lines(parts, 0, 5), "");
}

static void times_come_from_the_index(void **state)
{
	static const struct part parts[] = {
		{"a\nb\nc\n", "10 0\n20 4\n"}, {"d\n", NULL}, {"e\nf\n", "30 0\n40 2\n50"}};

	assert_text_freed(read_lines(parts, 3, -1), "10 a|10 b|20 c|20 d|30 e|40 f");
	assert_text_freed(read_lines(parts, 3, 1), "40 f");
}

static void the_last_lines(void **state)
{
	static const struct part parts[] = {{"a\nb\n", NULL}, {"c\nd\ne", NULL}};
	static const char *const expected[] = {"", "e", "d|e", "c|d|e", "b|c|d|e", "a|b|c|d|e"};

	for (int64_t tail = 0; tail <= 5; tail++)
		assert_text_freed(read_lines(parts, 2, tail), expected[tail]);
	assert_text_freed(read_lines(parts, 2, 100), "a|b|c|d|e");
}

/* 2 MB; a few lines of it are found without reading it all. */
static void the_last_lines_of_a_long_log(void **state)
{
	struct str text cleanup_str = {0};
	struct str wanted cleanup_str = {0};
	int64_t bytes_read = 0;
	struct log_line line;

	for (int i = 0; i < 200000; i++)
		str_append_format(&text, "%09d\n", i);
	const struct part parts[] = {{text.text, NULL}};
	struct fake_log *fake = make_log(parts, 1);
	fake->bytes_read = &bytes_read;
	struct log_lines *lines = log_lines_create(&fake->base.base);
	assert_int_equal(log_source_seek(&fake->base.base, "tail:3"), 0);
	assert_true(bytes_read < 200000);
	assert_true(log_lines_next(lines, true, &line));
	assert_memory_equal(line.text, "000199997", 9);
	log_lines_destroy(lines);
	for (int i = 100000; i < 200000; i++)
		str_append_format(&wanted, "%s%09d", i > 100000 ? "|" : "", i);
	assert_text_freed(read_lines(parts, 1, 100000), wanted.text);
}

static char *read_bytes(struct log_source *source, const char *position)
{
	struct str text = {0};
	struct log_span span;

	assert_int_equal(log_source_seek(source, position), 0);
	while (log_source_next(source, 3, &span))
		str_append_bytes(&text, span.bytes, span.length);
	return str_steal(&text);
}

/* An event loop finds the same lines, and reads little each time. */
static void the_last_lines_are_found_in_turns(void **state)
{
	struct str texts[3] = {0};
	struct part parts[3];
	int64_t bytes_read = 0, lines = 0;
	struct log_span span;
	char tail[64];

	for (size_t i = 0; i < array_length(texts); i++) {
		for (size_t number = 0; number < LOG_TURN; number++, lines++)
			str_append(&texts[i], number % 100 < 50 ? "\n" : "line\n");
		parts[i] = (struct part){texts[i].text, NULL};
	}
	for (int64_t wanted = 1; wanted < 2 * lines; wanted = wanted * 3 + 1) {
		struct log_source *once = &make_log(parts, array_length(parts))->base.base;
		struct fake_log *fake = make_log(parts, array_length(parts));
		struct log_source *turns = &fake->base.base;
		fake->bytes_read = &bytes_read;
		turns->takes_turns = true;
		snprintf(tail, sizeof(tail), "tail:%lld", (long long)wanted);
		char *expected cleanup_free = read_bytes(once, tail);
		struct str got cleanup_str = {0};
		assert_int_equal(log_source_seek(turns, tail), 0);
		do {
			assert_in_range(bytes_read, 0, LOG_TURN + LOG_SPAN_MAX);
			bytes_read = 0;
			if (log_source_next(turns, LOG_SPAN_MAX, &span))
				str_append_bytes(&got, span.bytes, span.length);
		} while (bytes_read > 0 || turns->is_busy);
		assert_false(turns->is_busy);
		assert_string_equal(str_text(&got), expected);
		log_source_destroy(once);
		log_source_destroy(turns);
	}
	for (size_t i = 0; i < array_length(texts); i++)
		str_finish(&texts[i]);
}

static void positions_are_found(void **state)
{
	static const struct part parts[] = {{"a\nb\n", NULL}, {"c\nd\n", NULL}};
	struct log_source *source = &make_log(parts, 2)->base.base;

	assert_int_equal(log_source_length(source), 8);
	assert_text_freed(read_bytes(source, "oldest"), "a\nb\nc\nd\n");
	assert_text_freed(read_bytes(source, "offset:2"), "d\n");
	assert_text_freed(read_bytes(source, "offset:-1"), "\n");
	assert_text_freed(read_bytes(source, "offset:100"), "");
	assert_text_freed(read_bytes(source, "tail:3"), "b\nc\nd\n");
	assert_text_freed(read_bytes(source, "at:0:2"), "b\nc\nd\n");
	assert_text_freed(read_bytes(source, "at:1:4"), "");
	/* Of a part that is gone. */
	assert_text_freed(read_bytes(source, "at:7:1"), "a\nb\nc\nd\n");
	log_source_destroy(source);
}

/* A portal asks for piece after piece of what takes long to get. */
static void the_end_of_a_log_is_kept_with_its_times(void **state)
{
	static const struct part parts[] = {{"a\nb\n", "10 0\n15 2\n"}, {"c\nd\n", "20 0\n30 2\n"}};
	struct err err cleanup_err = {0};
	struct log_source *source = &make_log(parts, 2)->base.base;
	struct log_span span;

	struct log_source *end = log_keep_end(source, 5, &err);
	log_source_destroy(source);
	assert_non_null(end);
	assert_int_equal(end->cut, 3);
	assert_int_equal(log_source_length(end), 5);
	struct log_source *other = log_text_share(end);
	assert_true(log_source_next(other, 100, &span));
	assert_int_equal(span.length, 1);
	assert_int_equal(span.time_ms, 15);
	assert_true(log_source_next(other, 100, &span));
	assert_int_equal(span.length, 2);
	assert_int_equal(span.offset, 1);
	assert_int_equal(span.time_ms, 20);
	assert_text_freed(read_bytes(end, "tail:2"), "c\nd\n");
	log_source_destroy(end);
	assert_text_freed(read_bytes(other, "offset:-2"), "d\n");
	assert_int_equal(other->cut, 3);
	log_source_destroy(other);
}

static void a_log_that_cannot_be_read_on_is_told(void **state)
{
	static const struct part parts[] = {{"a\n", NULL}, {"b\nc\n", NULL}};
	struct log_merge *merge = log_merge_create();
	struct fake_log *fake = make_log(parts, 2);
	struct log_line line;
	const void *label;

	fake->broken_at = 4;
	fake->base.items[1].length = 5;
	log_merge_add(merge, &fake->base.base, "worker:0| ", -1);
	assert_null(log_merge_problem(merge));
	for (int i = 0; i < 3; i++) {
		assert_true(log_merge_next(merge, true, &line, &label));
		assert_int_equal(line.text[0], 'a' + i);
		assert_string_equal(label, "worker:0| ");
	}
	assert_false(log_merge_next(merge, true, &line, &label));
	assert_string_equal(log_merge_problem(merge), "the disk is full of holes");
	log_merge_destroy(merge);
}

static void a_search_in_it_tells_too(void **state)
{
	static const struct part parts[] = {{"a\n", NULL}, {"b\na\n", NULL}};
	struct fake_log *fake = make_log(parts, 2);
	struct log_source *found =
		log_filter_open(&fake->base.base, &(struct log_search){.text = (char *)"a"});
	struct log_span span;

	fake->broken_at = 4;
	fake->base.items[1].length = 5;
	for (int i = 0; i < 2; i++) {
		assert_true(log_source_next(found, 10, &span));
		assert_null(found->problem);
	}
	assert_false(log_source_next(found, 10, &span));
	assert_string_equal(found->problem, "the disk is full of holes");
	log_source_destroy(found);
}

static void parts_are_known_by_their_names(void **state)
{
	static const char *const files[] = {"stderr",	 "stdout",	 "stdout.1",
					    "stdout.10", "stdout.2",	 "stdout-1",
					    "stdout.x",	 "stdout.times", "stdout.0"};
	static const size_t expected[] = {3, 4, 2, 1};
	struct str_list names cleanup_str_list = {0};
	size_t *parts;

	for (size_t i = 0; i < array_length(files); i++)
		str_list_add(&names, files[i]);
	assert_int_equal(log_parts_find(&names, "stdout", &parts), 4);
	assert_memory_equal(parts, expected, sizeof(expected));
	free(parts);
	assert_int_equal(log_parts_find(&names, "executor.log", &parts), 0);
	free(parts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_come_through_all_parts),
		cmocka_unit_test(times_come_from_the_index),
		cmocka_unit_test(the_last_lines),
		cmocka_unit_test(the_last_lines_of_a_long_log),
		cmocka_unit_test(the_last_lines_are_found_in_turns),
		cmocka_unit_test(positions_are_found),
		cmocka_unit_test(the_end_of_a_log_is_kept_with_its_times),
		cmocka_unit_test(a_log_that_cannot_be_read_on_is_told),
		cmocka_unit_test(a_search_in_it_tells_too),
		cmocka_unit_test(parts_are_known_by_their_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
