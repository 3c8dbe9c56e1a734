/* Numbers, sizes, durations, times and foreign text. */
#include "test.h"

#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

static void whole_numbers(void **state)
{
	static const struct {
		const char *text;
		int64_t min, max, value;
	} good[] = {
		{"0", 0, 0, 0},
		{"-5", -10, 10, -5},
		{"007", 0, 10, 7},
		{"9223372036854775807", 0, INT64_MAX, INT64_MAX},
		{"-9223372036854775808", INT64_MIN, 0, INT64_MIN},
	};
	static const char *const bad[] = {"",
					  " 1",
					  "1 ",
					  "+1",
					  "--1",
					  "-",
					  "1.0",
					  "1e3",
					  "0x1",
					  "a",
					  "1\n",
					  "9223372036854775808",
					  "-9223372036854775809",
					  "99999999999999999999999999"};

	for (size_t i = 0; i < array_length(good); i++) {
		int64_t value = 42;
		assert_int_equal(str_parse_int(good[i].text, good[i].min, good[i].max, &value), 0);
		assert_true(value == good[i].value);
	}
	for (size_t i = 0; i < array_length(bad); i++) {
		int64_t value = 42;
		if (str_parse_int(bad[i], INT64_MIN, INT64_MAX, &value) == 0)
			fail_msg("\"%s\" was taken for a number", bad[i]);
		assert_int_equal(value, 42);
	}
}

static void whole_numbers_have_bounds(void **state)
{
	int64_t value = 42;

	assert_int_equal(str_parse_int("1", 1, 3, &value), 0);
	assert_int_equal(str_parse_int("3", 1, 3, &value), 0);
	assert_int_equal(str_parse_int("0", 1, 3, &value), -1);
	assert_int_equal(str_parse_int("4", 1, 3, &value), -1);
	assert_int_equal(value, 3);
}

static void decimal_numbers(void **state)
{
	static const struct {
		const char *text;
		double value;
	} good[] = {{"1", 1},	   {"1.5", 1.5}, {"-0.25", -0.25}, {".5", 0.5},
		    {"1e3", 1000}, {"5.", 5},	 {"2E-2", 0.02}};
	static const char *const bad[] = {"",	"inf", "nan",  "-inf", "0x10", "1e999",
					  " 1", "1 ",  ".",    "-",    "1..2", "1e",
					  "+1", "1,5", "-nan", "e5"};

	for (size_t i = 0; i < array_length(good); i++) {
		double value = 42;
		assert_int_equal(str_parse_double(good[i].text, &value), 0);
		assert_true(value == good[i].value);
	}
	for (size_t i = 0; i < array_length(bad); i++) {
		double value = 42;
		if (str_parse_double(bad[i], &value) == 0)
			fail_msg("\"%s\" was taken for a number", bad[i]);
		assert_true(value == 42);
	}
}

static void truth(void **state)
{
	static const char *const yes[] = {"true", "TRUE", "yes", "Yes", "on", "1"};
	static const char *const no[] = {"false", "False", "no", "off", "OFF", "0"};
	static const char *const bad[] = {"", "2", "t", "y", "truee", " true", "true ", "01"};

	for (size_t i = 0; i < array_length(yes); i++) {
		bool value = false;
		assert_int_equal(str_parse_bool(yes[i], &value), 0);
		assert_true(value);
		value = true;
		assert_int_equal(str_parse_bool(no[i], &value), 0);
		assert_false(value);
	}
	for (size_t i = 0; i < array_length(bad); i++) {
		bool value = true;
		assert_int_equal(str_parse_bool(bad[i], &value), -1);
		assert_true(value);
	}
}

static void memory_sizes(void **state)
{
	static const struct {
		const char *text;
		int64_t mib;
	} good[] = {
		{"3", 3},
		{"0", 0},
		{"2g", 2048},
		{"2G", 2048},
		{"2048m", 2048},
		{"1.5g", 1536},
		{"1t", 1048576},
		{"512k", 1},
		{"1k", 1},
		{"1025k", 2},
		{"1024K", 1},
		{"0.1g", 103},
		{"0.5", 1},
		{"1048576t", INT64_C(1) << 40},
		{"10g", 10240},
		{"10gb", 10240},
		{"10GiB", 10240},
		{"10 GB", 10240},
		{"10GB ", 10240},
		{"2 mib", 2},
		{"64Mi", 64},
		{"2Gi", 2048},
		{"2048Ki", 2},
		{"1Ti", 1048576},
		{"1TB", 1048576},
		{"2048KB", 2},
		{"99999999999999999999999999999999", INT64_C(1) << 41},
		{"99999999999g", INT64_C(1) << 41},
	};
	static const char *const bad[] = {"",	     "g",     "2q",    "2b",  "-1",   "1.g",
					  ".5g",     "1..5g", "2gg",   "1e3", "0x10", "inf",
					  "10 gigs", " 2g",   "2g 1m", "2p",  "+2g",  "2gib2"};

	for (size_t i = 0; i < array_length(good); i++) {
		int64_t mib = -1;
		assert_int_equal(str_parse_mib(good[i].text, &mib), 0);
		if (mib != good[i].mib)
			fail_msg("%s: %" PRId64, good[i].text, mib);
	}
	for (size_t i = 0; i < array_length(bad); i++) {
		int64_t mib = -1;
		if (str_parse_mib(bad[i], &mib) == 0)
			fail_msg("\"%s\" was taken for %" PRId64 " MiB", bad[i], mib);
		assert_int_equal(mib, -1);
	}
}

static void durations(void **state)
{
	static const struct {
		const char *text;
		int64_t unit, ms;
	} good[] = {
		{"500ms", 1000, 500},	  {"10s", 1, 10000},
		{"5m", 1, 300000},	  {"2h", 1, 7200000},
		{"1d", 1, 86400000},	  {"1.5h", 1, 5400000},
		{"7", 1000, 7000},	  {"7", 1, 7},
		{"0", 1000, 0},		  {"0s", 1, 0},
		{"1.1s", 1, 1100},	  {"10S", 1, 10000},
		{"0.1ms", 1, 1},	  {"0.001s", 1, 1},
		{"0.5", 60000, 30000},	  {"1h30m", 1, 5400000},
		{"1 h 30 m", 1, 5400000}, {"5min", 1, 300000},
		{"5 MIN", 1, 300000},	  {"90sec", 1, 90000},
		{"1d12hr", 1, 129600000}, {"1m30.5s", 1, 90500},
	};
	static const char *const bad[] = {
		"",	"s",	"-1s",	 "1w",	   "1e3s",  "1.s",	"30m1h",
		"1h1h", "1h30", "30 1h", "1h,30m", "1h-1m", "5 minute", "99999999999999999999d"};

	for (size_t i = 0; i < array_length(good); i++) {
		int64_t ms = -1;
		assert_int_equal(str_parse_duration(good[i].text, good[i].unit, &ms), 0);
		if (ms != good[i].ms)
			fail_msg("%s: %" PRId64, good[i].text, ms);
	}
	for (size_t i = 0; i < array_length(bad); i++) {
		int64_t ms = -1;
		if (str_parse_duration(bad[i], 1, &ms) == 0)
			fail_msg("\"%s\" was taken for %" PRId64 " ms", bad[i], ms);
		assert_int_equal(ms, -1);
	}
}

static void sizes_for_people(void **state)
{
	assert_text_freed(str_format_mib(0), "0 MiB");
	assert_text_freed(str_format_mib(0.25), "0.2 MiB");
	assert_text_freed(str_format_mib(512), "512 MiB");
	assert_text_freed(str_format_mib(1023.4), "1023 MiB");
	assert_text_freed(str_format_mib(1023.7), "1.0 GiB");
	assert_text_freed(str_format_mib(3994), "3.9 GiB");
	assert_text_freed(str_format_mib(4096), "4.0 GiB");
	assert_text_freed(str_format_mib(1.5 * 1024 * 1024), "1.5 TiB");
	assert_text_freed(str_format_mib_beside(1536, 1500), "1536 MiB");
	assert_text_freed(str_format_mib_beside(1500, 1536), "1500 MiB");
	assert_text_freed(str_format_mib_beside(1536, 1536), "1.5 GiB");
	assert_text_freed(str_format_mib_beside(1536, 64), "1.5 GiB");
}

static void durations_for_people(void **state)
{
	assert_text_freed(str_format_duration(0), "0 ms");
	assert_text_freed(str_format_duration(999), "999 ms");
	assert_text_freed(str_format_duration(1250), "1.2 s");
	assert_text_freed(str_format_duration(59999), "59.9 s");
	assert_text_freed(str_format_duration(185000), "3 m 05 s");
	assert_text_freed(str_format_duration(7800000), "2 h 10 m");
	assert_text_freed(str_format_duration(270000000), "3 d 03 h");
	assert_text_freed(str_format_duration(-1250), "-1.2 s");
	free(str_format_duration(INT64_MIN));
}

static void times_are_utc(void **state)
{
	assert_text_freed(str_format_time(0), "1970-01-01T00:00:00.000Z");
	assert_text_freed(str_format_time(1795241651123), "2026-11-21T06:14:11.123Z");
	assert_text_freed(str_format_time(-1), "1969-12-31T23:59:59.999Z");
	free(str_format_time(INT64_MAX));
	free(str_format_time(INT64_MIN));
}

static void shell_words(void **state)
{
	assert_text_freed(str_shell_quote("train.py"), "train.py");
	assert_text_freed(str_shell_quote("--lr=0.1"), "--lr=0.1");
	assert_text_freed(str_shell_quote(""), "''");
	assert_text_freed(str_shell_quote("two words"), "'two words'");
	assert_text_freed(str_shell_quote("it's"), "'it'\\''s'");
	assert_text_freed(str_shell_quote("$HOME"), "'$HOME'");
	assert_text_freed(str_shell_quote("~"), "'~'");
	assert_text_freed(str_shell_quote("a;rm"), "'a;rm'");
	assert_text_freed(str_shell_quote("\xc3\xa9"), "'\xc3\xa9'");
}

static void utf8(void **state)
{
	static const char *const good[] = {"",
					   "plain",
					   "\xc3\xa9",
					   "\xe2\x82\xac",
					   "\xf0\x9f\x98\x80",
					   "\xf4\x8f\xbf\xbf",
					   "\x7f\t\n"};
	static const char *const bad[] = {"\x80",
					  "\xc3",
					  "\xc0\xaf",
					  "\xc1\xbf",
					  "\xe0\x80\xaf",
					  "\xed\xa0\x80",
					  "\xf4\x90\x80\x80",
					  "\xf8\x88\x80\x80\x80",
					  "a\xff",
					  "\xe2\x82",
					  "\xf0\x9f\x98",
					  "\xf0\x80\x80\x80",
					  "\xc3(",
					  "\xf5\x80\x80\x80"};

	for (size_t i = 0; i < array_length(good); i++)
		assert_true(str_is_utf8(good[i], strlen(good[i])));
	for (size_t i = 0; i < array_length(bad); i++) {
		if (str_is_utf8(bad[i], strlen(bad[i])))
			fail_msg("sequence %zu was taken for UTF-8", i);
	}
	assert_false(str_is_utf8("a\0b", 3));
	/* What follows the given length is not looked at. */
	assert_false(str_is_utf8("\xc3\xa9", 1));
}

static void what_cannot_be_printed_is_marked(void **state)
{
	assert_text_freed(str_printable("a\tb\n", 4), "a\tb\n");
	assert_text_freed(str_printable("\x1b[31m\r", 6), "?[31m?");
	assert_text_freed(str_printable("a\0b", 3), "a?b");
	assert_text_freed(str_printable("\xc3\xa9\xff\xc3", 4), "\xc3\xa9??");
	assert_text_freed(str_printable("\xc2\x9b"
					"2J",
					4),
			  "?2J"); /* CSI as one character */
	assert_text_freed(str_printable("\xed\xa0\x80", 3), "???");
	assert_text_freed(str_printable("\xe2\x80\xae", 3), "?"); /* U+202E */
	assert_text_freed(str_printable("\xe2\x81\xa6", 3), "?"); /* U+2066 */
	assert_text_freed(str_printable("\xe2\x80\xa8", 3), "?"); /* U+2028 */
	assert_text_freed(str_printable("\xe2\x80\xa7", 3), "\xe2\x80\xa7");
	assert_text_freed(str_printable("", 0), "");
}

static void test_environment(void **state)
{
	static const struct {
		const char *reference, *value;
	} rows[] = {
		{"STR_SET", "here"},	    {"STR_SET-other", "here"},
		{"STR_SET:-other", "here"}, {"STR_EMPTY", ""},
		{"STR_EMPTY-other", ""},    {"STR_EMPTY:-other", "other"},
		{"STR_UNSET", NULL},	    {"STR_UNSET-other", "other"},
		{"STR_UNSET:-", ""},	    {"STR_UNSET-a-b", "a-b"},
	};

	setenv("STR_SET", "here", 1);
	setenv("STR_EMPTY", "", 1);
	unsetenv("STR_UNSET");
	for (size_t i = 0; i < array_length(rows); i++) {
		char *value cleanup_free = str_environment(rows[i].reference);
		if (!str_equal(value, rows[i].value))
			fail_msg("%s: %s", rows[i].reference, value ? value : "nothing");
	}
}

static void texts_are_cut_between_characters(void **state)
{
	char text[] = "a\xc3\xa4z";

	str_cut(text, 4);
	assert_string_equal(text, "a\xc3\xa4z");
	str_cut(text, 2);
	assert_string_equal(text, "a");
	str_cut(NULL, 2);
}

static void lines_of_logs_are_known_by_their_beginning(void **state)
{
	static const char error[] = "2026-11-21T06:14:11.123Z error am: x: no moon";
	static const char *const others[] = {"", "2026-11-21T06:14:11.123Z",
					     "2026-11-21T06:14:11.-12Z error am: x",
					     "2026-11-21T06:14:11.123 error am: x", "Error am: x"};

	assert_string_equal(log_error_in(error), "x: no moon");
	assert_null(log_error_in("2026-11-21T06:14:11.123Z info am: x"));
	assert_true(log_time_in(error, strlen(error)) == INT64_C(1795241651123));
	for (size_t i = 0; i < array_length(others); i++) {
		assert_true(log_time_in(others[i], strlen(others[i])) == 0);
		assert_null(log_error_in(others[i]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_environment),
		cmocka_unit_test(texts_are_cut_between_characters),
		cmocka_unit_test(lines_of_logs_are_known_by_their_beginning),
		cmocka_unit_test(whole_numbers),
		cmocka_unit_test(whole_numbers_have_bounds),
		cmocka_unit_test(decimal_numbers),
		cmocka_unit_test(truth),
		cmocka_unit_test(memory_sizes),
		cmocka_unit_test(durations),
		cmocka_unit_test(sizes_for_people),
		cmocka_unit_test(durations_for_people),
		cmocka_unit_test(times_are_utc),
		cmocka_unit_test(shell_words),
		cmocka_unit_test(utf8),
		cmocka_unit_test(what_cannot_be_printed_is_marked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
