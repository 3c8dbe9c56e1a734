/* A log on its way: lines that describe pieces, taken apart as if an enemy had written them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/mem.h"
#include "logs/frame.h"

static void what_is_written_is_read(void **state)
{
	const struct log_span spans[] = {
		{.bytes = "a\nb",
		 .length = 3,
		 .time_ms = 1763733251123,
		 .part = 0x8f3a,
		 .offset = 17},
		{.bytes = "\0\xff", .length = 2, .part = INT64_MAX, .offset = INT64_MAX},
	};
	struct str text cleanup_str = {0};
	struct log_span span;

	for (size_t i = 0; i < array_length(spans); i++) {
		log_frame_append_head(&text, &spans[i]);
		str_append_bytes(&text, spans[i].bytes, spans[i].length);
	}
	log_frame_append_head(&text, NULL);
	const char *rest = text.text;
	size_t length = text.length;
	for (size_t i = 0; i < array_length(spans); i++) {
		assert_int_equal(log_frame_next(&rest, &length, &span), 1);
		assert_int_equal(span.time_ms, spans[i].time_ms);
		assert_int_equal(span.part, spans[i].part);
		assert_int_equal(span.offset, spans[i].offset);
		assert_int_equal(span.length, spans[i].length);
		assert_memory_equal(span.bytes, spans[i].bytes, span.length);
	}
	assert_int_equal(log_frame_next(&rest, &length, &span), 1);
	assert_int_equal(span.length, 0);
	assert_int_equal(log_frame_next(&rest, &length, &span), 0);
}

static ssize_t parse(const char *line)
{
	struct log_span span;

	return log_frame_parse_head(line, strlen(line), &span);
}

static void what_is_not_whole_is_waited_for(void **state)
{
	const char line[] = "17 3f 0 12\n";

	for (size_t i = 0; i + 1 < strlen(line); i++) {
		char *part cleanup_free = mem_strndup(line, i);
		assert_int_equal(parse(part), 0);
	}
	assert_int_equal(parse(line), strlen(line));
}

static void what_is_none_is_refused(void **state)
{
	static const char *const lines[] = {
		"\n",
		"1 2 3\n",
		"1 2 3 4 5\n",
		"1  3 4\n",
		" 1 2 3 4\n",
		"1 2 3 4 \n",
		"-1 2 3 4\n",
		"1 -2 3 4\n",
		"1 g 3 4\n",
		"1 0x2 3 4\n",
		"1 11112222333344445 3 4\n",
		"1 2 -3 4\n",
		"1 2 3 65537\n",
		"1 2 3 -1\n",
		"99999999999999999999 2 3 4\n",
	};

	for (size_t i = 0; i < array_length(lines); i++)
		assert_int_equal(parse(lines[i]), -1);
	char long_line[LOG_FRAME_HEAD_MAX + 1];
	memset(long_line, '1', LOG_FRAME_HEAD_MAX);
	long_line[LOG_FRAME_HEAD_MAX] = '\0';
	assert_int_equal(parse(long_line), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(what_is_not_whole_is_waited_for),
		cmocka_unit_test(what_is_none_is_refused),
	};

	return cmocka_run_group_tests_name("log frames", tests, NULL, NULL);
}
