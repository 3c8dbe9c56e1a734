/* The last lines of stderr. */
#include "../base/test.h"

#include "base/mem.h"
#include "executor/tail.h"

static void assert_tail(int capacity, const char *text, const char *expected)
{
	struct str_list lines = {0};
	struct tail tail;

	tail_init(&tail, capacity);
	tail_feed(&tail, text, strlen(text));
	tail_end(&tail);
	tail_list(&tail, &lines);
	assert_text_freed(str_list_join(&lines, "|"), expected);
	str_list_finish(&lines);
	tail_finish(&tail);
}

static void the_last_lines_are_kept_in_order(void **state)
{
	assert_tail(3, "", "");
	assert_tail(3, "a\n", "a");
	assert_tail(3, "a\nb\nc", "a|b|c");
	assert_tail(3, "a\nb\nc\nd\ne\n", "c|d|e");
	assert_tail(1, "a\nb\nc\n", "c");
	assert_tail(0, "a\nb\nc\n", "");
	assert_tail(3, "a\n\nb\n", "a||b");
}

static void bytes_may_come_in_any_pieces(void **state)
{
	const char *text = "first\nsecond \x1b[1m\xc3\xa9\r\n\x1b]8;;x\x1b\\third";
	struct str_list lines = {0};
	struct tail tail;

	tail_init(&tail, 5);
	for (const char *c = text; *c; c++)
		tail_feed(&tail, c, 1);
	tail_end(&tail);
	tail_list(&tail, &lines);
	assert_text_freed(str_list_join(&lines, "|"), "first|second \xc3\xa9|third");
	str_list_finish(&lines);
	tail_finish(&tail);
}

static void a_progress_bar_is_one_line(void **state)
{
	assert_tail(3, "epoch 1\n 10%\r 20%\r100%\ndone\n", "epoch 1|100%|done");
	assert_tail(3, "dos line\r\nnext\r\n", "dos line|next");
	assert_tail(3, "50%\r", "50%");
}

static void long_lines_are_cut(void **state)
{
	char text[3 * TAIL_LINE_CAP];
	struct str_list lines = {0};
	struct tail tail;

	memset(text, 'x', sizeof(text));
	tail_init(&tail, 2);
	tail_feed(&tail, text, sizeof(text));
	tail_feed(&tail, "\nshort\n", 7);
	tail_list(&tail, &lines);
	assert_int_equal(lines.count, 2);
	assert_int_equal(strlen(lines.items[0]), TAIL_LINE_CAP);
	assert_string_equal(lines.items[1], "short");
	str_list_finish(&lines);
	tail_finish(&tail);
}

static void what_is_no_text_is_made_printable(void **state)
{
	struct str_list lines = {0};
	struct tail tail;

	tail_init(&tail, 2);
	tail_feed(&tail,
		  "a\xff\x00"
		  "b\a\n",
		  6);
	tail_list(&tail, &lines);
	assert_string_equal(lines.items[0], "a??b?");
	str_list_finish(&lines);
	tail_finish(&tail);
}

/* As pytest --color=yes, rich and tqdm write it. */
static const char colourful_pytest[] =
	"\x1b[31m\x1b[1m_____ test_a _____\x1b[0m\n"
	"\n"
	"    \x1b[94mdef\x1b[39;49;00m \x1b[92mtest_a\x1b[39;49;00m():\x1b[90m\x1b[39;49;00m\n"
	"\x1b[1m\x1b[31mE       test_x.Missing: no step 7\x1b[0m\n"
	"\x1b[31mFAILED\x1b[0m test_x.py::\x1b[1mtest_a\x1b[0m - test_x.Missing: no step 7\n";
static const char colourful_rich[] =
	"\x1b[2;36m[11/21/26 20:38:21]\x1b[0m\x1b[2;36m \x1b[0m\x1b[1;31mERROR   \x1b[0m lost it "
	"\x1b]8;id=506705;file://train.py\x1b\\\x1b[2mtrain.py\x1b[0m\x1b]8;;\x1b\\\n"
	"\x1b[?25l\r\x1b[2Ktrain \x1b[90m\u2501\u2501\x1b[0m \x1b[35m  0%\x1b[0m"
	"\r\x1b[2Ktrain \x1b[91m\u2501\u2501\x1b[0m \x1b[35m100%\x1b[0m\n"
	"\x1b[?25h\x1b[31m\u256d\u2500\x1b[0m\x1b[1;31mTraceback "
	"\x1b[0m\x1b[1;2;31m(most recent call last)\x1b[0m\x1b[31m \u2500\u256e\x1b[0m\n"
	"\x1b[31m\u2502\x1b[0m \x1b[33mtrain.py\x1b[0m:\x1b[94m16\x1b[0m\n"
	"\x1b[31m\u2570\u2500\u2500\u256f\x1b[0m\n"
	"\x1b[1;91mMissing: \x1b[0mno step 7\n";

static void what_is_meant_for_a_terminal_is_left_out(void **state)
{
	assert_tail(9, colourful_pytest,
		    "_____ test_a _____||    def test_a():|E       test_x.Missing: no step 7|"
		    "FAILED test_x.py::test_a - test_x.Missing: no step 7");
	assert_tail(9, colourful_rich,
		    "[11/21/26 20:38:21] ERROR    lost it train.py|"
		    "train \u2501\u2501 100%|\u256d\u2500Traceback (most recent call last) "
		    "\u2500\u256e|"
		    "\u2502 train.py:16|\u2570\u2500\u2500\u256f|Missing: no step 7");
	/* A window's title, ended by a bell; a character set; a cursor that is kept. */
	assert_tail(3,
		    "\x1b]0;train\aa\x1b(Bb\x1b"
		    "7c\n",
		    "abc");
}

static void what_was_erased_is_not_there(void **state)
{
	assert_tail(3, " 10%|#   |\r 90%|### |\r\x1b[Kdone\n", "done");
	assert_tail(3, " 90%|### |\r\x1b[K\nnext\n", "|next");
	assert_tail(3, " 90%|### |\x1b[0m\r", " 90%|### |");
}

static void a_torn_sequence_ends_with_its_line(void **state)
{
	assert_tail(3, "a\x1b[31\nb\n", "a|b");
	assert_tail(3, "a\x1b]0;title\nb\n", "a|b");
	assert_tail(3, "a\x1b\nb\x1b\x1b[1mc\n", "a|bc");
	assert_tail(3, "a\x1b[3\xc3\xa9\n", "a\xc3\xa9");
	assert_tail(3, "a\x1b", "a");
}

static void more_is_kept_than_is_listed(void **state)
{
	struct str_list lines cleanup_str_list = {0};
	struct tail tail;

	tail_init(&tail, 2);
	tail_feed(&tail, "a\nb\nc\n", 6);
	tail_list_all(&tail, &lines);
	assert_text_freed(str_list_join(&lines, "|"), "a|b|c");
	tail_finish(&tail);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_lines_are_kept_in_order),
		cmocka_unit_test(bytes_may_come_in_any_pieces),
		cmocka_unit_test(a_progress_bar_is_one_line),
		cmocka_unit_test(long_lines_are_cut),
		cmocka_unit_test(what_is_no_text_is_made_printable),
		cmocka_unit_test(what_is_meant_for_a_terminal_is_left_out),
		cmocka_unit_test(what_was_erased_is_not_there),
		cmocka_unit_test(a_torn_sequence_ends_with_its_line),
		cmocka_unit_test(more_is_kept_than_is_listed),
	};

	return cmocka_run_group_tests_name("tail", tests, NULL, NULL);
}
