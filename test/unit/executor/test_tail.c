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
	const char *text = "first\nsecond \xc3\xa9\r\nthird";
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
		  "b\x1b[31m\n",
		  10);
	tail_list(&tail, &lines);
	assert_string_equal(lines.items[0], "a??b?[31m");
	str_list_finish(&lines);
	tail_finish(&tail);
}

static void assert_headline(const char *text, const char *expected)
{
	struct str_list lines = {0};

	split(text, &lines);
	const char *line = tail_headline(&lines);
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
	/* The traceback's head has scrolled away. */
	assert_headline("    main()\n"
			"torch.cuda.OutOfMemoryError: CUDA out of memory.\n"
			"bye\n",
			"torch.cuda.OutOfMemoryError: CUDA out of memory.");
	/* Cut off in the middle. */
	assert_headline("Traceback (most recent call last):\n"
			"  File \"train.py\", line 3\n",
			"  File \"train.py\", line 3");
}

static void other_errors_are_found(void **state)
{
	assert_headline("loading\nterminate called after throwing an instance of 'E'\n"
			"  what():  bad news\n\n",
			"  what():  bad news");
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
	const char *line = tail_headline_of_rank(&lines);
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
		cmocka_unit_test(a_traceback_ends_in_the_headline),
		cmocka_unit_test(other_errors_are_found),
		cmocka_unit_test(a_framed_paragraph_begins_with_what_it_is_about),
		cmocka_unit_test(else_it_is_the_last_line_that_says_anything),
		cmocka_unit_test(what_is_told_all_along_is_no_headline),
		cmocka_unit_test(a_rank_says_more_than_the_torchrun_that_started_it),
		cmocka_unit_test(more_is_kept_than_is_listed),
	};

	return cmocka_run_group_tests_name("tail", tests, NULL, NULL);
}
