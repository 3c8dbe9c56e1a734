/* Sequences of terminals in lines that programs wrote. */
#include "test.h"

#include <string.h>

#include "base/escape.h"
#include "base/mem.h"

#define SHOWS(line, shown) expect_shown(line, sizeof(line) - 1, shown)

static void expect_shown(const char *line, size_t length, const char *expected)
{
	char *shown cleanup_free = escape_colours(line, length);

	assert_string_equal(shown, expected);
}

static void colours_pass_and_end_with_the_line(void **state)
{
	SHOWS("plain", "plain");
	SHOWS("\033[31mred\033[0m", "\033[31mred\033[0m");
	SHOWS("\033[38;5;196mred\033[m.", "\033[38;5;196mred\033[m.");
	SHOWS("\033[4:3mcurly", "\033[4:3mcurly\033[0m");
	SHOWS("\xc3\xa4\t\xe2\x82\xac", "\xc3\xa4\t\xe2\x82\xac");
}

/* promise: S170 */
static void what_else_a_terminal_obeys_is_left_out(void **state)
{
	SHOWS("a\033[2Jb\033[1;1Hc\033[6n\033[?25ld", "abcd");
	SHOWS("a\033]0;title\007b\033]52;c;cHduZWQ=\033\\c", "abc");
	SHOWS("a\033]8;;http://evil\033\\link\033]8;;\033\\", "alink");
	SHOWS("a\033P+q544e\033\\b\033_x\033\\c\033^x\033\\d\033Xx\033\\e", "abcde");
	SHOWS("a\033cb\033(0c\0337d", "abcd");
	SHOWS("a\033[>4;1mb\033[?4mc\033[1$md", "abcd");
	SHOWS("a\rb\bc\007d\0e\177", "a?b?c?d?e?");
	SHOWS("a\xc2\x9b"
	      "2Jb\x9b"
	      "2Jc",
	      "a?2Jb?2Jc");
	SHOWS("a\xe2\x80\xae"
	      "b\xe2\x81\xa6"
	      "c",
	      "a?b?c");
}

static void torn_sequences_make_none(void **state)
{
	SHOWS("a\033", "a");
	SHOWS("a\033[3", "a");
	SHOWS("a\033]0;title", "a");
	SHOWS("a\033[3\n1mb", "a\n1mb");
	SHOWS("\033\033[31mred", "\033[31mred\033[0m");
	SHOWS("\033[\033[31m31mred", "\033[31m31mred\033[0m");
	/* Bytes around a sequence are no character, though they would be without it. */
	SHOWS("\xc2\033[K\x9b"
	      "2J",
	      "??2J");
	SHOWS("\xc2\033[31m\x9b", "?\033[31m?\033[0m");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(colours_pass_and_end_with_the_line),
		cmocka_unit_test(what_else_a_terminal_obeys_is_left_out),
		cmocka_unit_test(torn_sequences_make_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
