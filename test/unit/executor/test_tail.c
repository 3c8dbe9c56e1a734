/* The last lines of stderr, and the one that says most. */
#include "../base/test.h"

#include <stdio.h>

#include "base/mem.h"
#include "executor/tail.h"

static void split(const char *text, struct str_list *lines)
{
	const char *next;

	for (; *text; text = *next ? next + 1 : next) {
		next = strchrnul(text, '\n');
		str_list_take(lines, mem_strndup(text, (size_t)(next - text)));
	}
}

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

static void assert_headline(const char *text, const char *expected)
{
	struct str_list lines = {0};

	split(text, &lines);
	char *line cleanup_free = tail_headline(&lines, false);
	if (expected)
		assert_string_equal(line ? line : "(none)", expected);
	else
		assert_null(line);
	str_list_finish(&lines);
}

static void a_traceback_ends_in_the_headline(void **state)
{
	assert_headline("Traceback (most recent call last):\n"
			"  File \"train.py\", line 3, in <module>\n"
			"    main()\n"
			"ValueError: no data\n",
			"ValueError: no data");
	/* Something may be printed behind it. */
	assert_headline("Traceback (most recent call last):\n"
			"  File \"train.py\", line 3, in <module>\n"
			"KeyboardInterrupt\n"
			"closing files\nerror: could not flush\n",
			"KeyboardInterrupt");
	/* Of a chain the last one is what reached the top. */
	assert_headline("Traceback (most recent call last):\n"
			"  File \"a.py\", line 1\n"
			"KeyError: 'x'\n\n"
			"During handling of the above exception, another exception occurred:\n\n"
			"Traceback (most recent call last):\n"
			"  File \"a.py\", line 2\n"
			"RuntimeError: cannot load x\n",
			"RuntimeError: cannot load x");
	/* torchrun and loggers put a prefix before each line. */
	assert_headline("[rank1]: Traceback (most recent call last):\n"
			"[rank1]:   File \"a.py\", line 2\n"
			"[rank1]: RuntimeError: boom\n",
			"[rank1]: RuntimeError: boom");
	/* A progress bar was left where it was. */
	assert_headline(" 50%|####    | 5/10Traceback (most recent call last):\n"
			"  File \"train.py\", line 3, in <module>\n"
			"Missing: no step 7\n"
			"bye\n",
			"Missing: no step 7");
	/* rich puts a frame around it. */
	assert_headline("\u256d\u2500 Traceback (most recent call last) \u2500\u256e\n"
			"\u2502 train.py:16 in <module> \u2502\n\u2570\u2500\u256f\n"
			"Missing: no step 7\n"
			"bye\n",
			"Missing: no step 7");
	/* The traceback's head has scrolled away. */
	assert_headline("    main()\n"
			"torch.cuda.OutOfMemoryError: CUDA out of memory.\n"
			"bye\n",
			"torch.cuda.OutOfMemoryError: CUDA out of memory.");
	/* Cut off in the middle. */
	assert_headline("Traceback (most recent call last):\n"
			"  File \"train.py\", line 3\n",
			"File \"train.py\", line 3");
}

static void other_errors_are_found(void **state)
{
	assert_headline("loading\nterminate called after throwing an instance of 'E'\n"
			"  what():  bad news\n\n",
			"what():  bad news");
	assert_headline("Segmentation fault (core dumped)\nbye\n",
			"Segmentation fault (core dumped)");
	assert_headline("bash: line 1: traim: command not found\n",
			"bash: line 1: traim: command not found");
	assert_headline("error: no such option: --epcohs\nsee --help\n",
			"error: no such option: --epcohs");
}

static void a_framed_paragraph_begins_with_what_it_is_about(void **state)
{
	assert_headline("-----\nelse\n-----\n-----\n"
			"mpirun noticed that rank 1 exited on signal 9 (Killed).\n"
			"It says more.\n-----\n\n",
			"mpirun noticed that rank 1 exited on signal 9 (Killed).");
	assert_headline("-----\nabout\n-----\nbye\n", "bye");
	assert_headline("more\n-----\n", "more");
}

static void else_it_is_the_last_line_that_says_anything(void **state)
{
	assert_headline("one\ntwo\n\n  \n", "two");
	assert_headline("lost the connection {\n  }\n^^^^\n", "lost the connection {");
	assert_headline("", NULL);
	assert_headline("\n \n", NULL);
}

static void what_is_told_all_along_is_no_headline(void **state)
{
	static const char told[] =
		"E0000 00:00:1795255217.362980   32320 server.cc:1061] Could not start\n"
		"I0000 00:00:1795255901.215822   11536 port.cc:153] oneDNN: see https://x\n"
		"W0000 00:00:1795255933.264338   12928 dataset.cc:997] ERROR messages are on\n";

	assert_headline(told,
			"E0000 00:00:1795255217.362980   32320 server.cc:1061] Could not start");
	assert_headline(strchr(told, '\n') + 1, NULL);
	assert_headline("Windows 2000 is] gone\n", "Windows 2000 is] gone");
}

static void a_warning_is_no_headline(void **state)
{
	assert_headline("no data, giving up\n"
			"/x/train.py:3: DeprecationWarning: the old API is deprecated\n"
			"  warnings.warn(\"the old API is deprecated\", DeprecationWarning)\n",
			"no data, giving up");
	assert_headline("train.py:7: UserWarning: ERROR handling is old\n  api.call(x)\n"
			"WARNING:root:file not found\n",
			NULL);
	assert_headline("ValueError: no data\nUserWarning: 3 leaked semaphores\n",
			"ValueError: no data");
}

static void a_message_of_several_lines_is_told_whole(void **state)
{
	assert_headline("Traceback (most recent call last):\n"
			"  File \"train.py\", line 3, in <module>\n"
			"ValueError: Exception encountered when calling Dense.call().\n"
			"\n"
			"Input has shape (2, 3).\n"
			"\n"
			"Arguments received by Dense.call():\n"
			"  \u2022 inputs=tf.Tensor(shape=(2, 3))\n"
			"/x.py:9: UserWarning: 3 leaked semaphores\n"
			"  warn(x)\n",
			"ValueError: Exception encountered when calling Dense.call(). "
			"Input has shape (2, 3). Arguments received by Dense.call(): "
			"\u2022 inputs=tf.Tensor(shape=(2, 3))");
	assert_headline("[rank0]: Traceback (most recent call last):\n"
			"[rank0]:   File \"a.py\", line 2\n"
			"[rank0]: RuntimeError: Error(s) in loading state_dict for Net:\n"
			"[rank1]: bye\n"
			"[rank0]: \tMissing key(s) in state_dict: \"fc.bias\".\n",
			"[rank0]: RuntimeError: Error(s) in loading state_dict for Net: "
			"Missing key(s) in state_dict: \"fc.bias\".");
}

/* TensorFlow says last what was wrong, so the middle is left out. */
static void a_long_message_keeps_its_beginning_and_its_end(void **state)
{
	struct str text cleanup_str = {0};
	struct str_list lines cleanup_str_list = {0};

	str_append(&text, "Traceback (most recent call last):\n  File \"a.py\", line 2\n"
			  "InvalidArgumentError: Graph execution error:\n\n");
	for (int i = 0; i < 200; i++)
		str_append_format(&text, "node %d\n", i);
	str_append(&text, "logits and labels must have the same first dimension\n");
	split(text.text, &lines);
	char *line cleanup_free = tail_headline(&lines, true);
	assert_true(strlen(line) < 2 * TAIL_MESSAGE_CAP);
	assert_true(
		str_starts_with(line, "InvalidArgumentError: Graph execution error: ... node "));
	assert_true(str_ends_with(line, "node 199 logits and labels must have the same first "
					"dimension"));
}

static void assert_headline_of_rank(const char *before, const char *code, const char *expected)
{
	struct str_list lines cleanup_str_list = {0};
	char *text cleanup_free = mem_printf(
		"%sE1121 11:50:35.388000 14130 api.py:1002] failed (exitcode: %s) local_rank: 0\n"
		"Traceback (most recent call last):\n"
		"  File \"bin/torchrun\", line 8, in <module>\n"
		"    raise ChildFailedError(\n"
		"torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
		"====\ntrain.py FAILED\n----\n"
		"Failures:\n[1]:\n  exitcode  : -15 (pid: 14170)\n----\n"
		"Root Cause (first observed failure):\n[0]:\n"
		"  rank      : 2 (local_rank: 0)\n"
		"  exitcode  : %s (pid: 14169)\n"
		"  traceback : To enable traceback see: https://x/errors.html\n"
		"====\n",
		before, code, code);

	split(text, &lines);
	char *line cleanup_free = tail_headline_of_rank(&lines);
	assert_string_equal(line ? line : "(none)", expected);
}

static void a_rank_says_more_than_the_torchrun_that_started_it(void **state)
{
	struct str_list lines cleanup_str_list = {0};

	assert_headline_of_rank("[worker0]:Traceback (most recent call last):\n"
				"[worker1]:Traceback (most recent call last):\n"
				"[worker0]:  File \"train.py\", line 3\n"
				"[worker0]:ValueError: no data\n"
				"[worker1]:  File \"train.py\", line 3\n"
				"[worker1]:ValueError: none here\n",
				"1", "[worker1]:ValueError: none here");
	assert_headline_of_rank("the goal was missed\n", "1", "the goal was missed");
	assert_headline_of_rank("", "1", "(none)");
	/* Of a signal torchrun does tell, and nothing that was said before is about it. */
	assert_headline_of_rank("KeyError: 'x'\n", "-9", "(none)");
	split("KeyError: 'x'\nbye\n", &lines);
	assert_null(tail_headline_of_rank(&lines));
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
		cmocka_unit_test(a_traceback_ends_in_the_headline),
		cmocka_unit_test(other_errors_are_found),
		cmocka_unit_test(a_framed_paragraph_begins_with_what_it_is_about),
		cmocka_unit_test(else_it_is_the_last_line_that_says_anything),
		cmocka_unit_test(what_is_told_all_along_is_no_headline),
		cmocka_unit_test(a_warning_is_no_headline),
		cmocka_unit_test(a_message_of_several_lines_is_told_whole),
		cmocka_unit_test(a_long_message_keeps_its_beginning_and_its_end),
		cmocka_unit_test(a_rank_says_more_than_the_torchrun_that_started_it),
		cmocka_unit_test(more_is_kept_than_is_listed),
	};

	return cmocka_run_group_tests_name("tail", tests, NULL, NULL);
}
