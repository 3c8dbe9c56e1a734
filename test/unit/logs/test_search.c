/* Lines that are looked for where the log is: a text is found, and for an expression the texts that
 * every line has which matches it. */
#include "../base/scratch.h"
#include "../base/test.h"

#include "base/mem.h"
#include "base/str.h"
#include "logs/file.h"
#include "logs/filter.h"
#include "logs/regex.h"

static void texts_without_which_no_line_matches(void **state)
{
	static const struct {
		const char *regex, *texts;
	} rows[] = {
		{"loss", "loss"},
		{"loss: [0-9.]+", "loss: "},
		{"[Ee]poch [0-9]+: loss|error", ": loss\nerror"},
		{"^Traceback \\(most recent", "Traceback (most recent"},
		{"a+bcd?e*fg", "bc"},
		{"worker:\\d|oom", "worker:\noom"},
		{"(error|warn)", NULL},
		{"error|[0-9]", NULL},
		{"error|", NULL},
		{"|error", NULL},
		{".*", NULL},
		{"x?", NULL},
		{"x*", NULL},
		{"x{0,3}", NULL},
		{"x+?", NULL},
		{"ab{2,3}cd", "cd"},
		{"(a|b)c", "c"},
		{"([)|]|x)end", "end"},
		{"[]|)]end", "end"},
		{"[[:alpha:]|]end", "end"},
		{"a\\|b", "a|b"},
		{"\\bword\\b", "word"},
		{"caf\xc3\xa9s ouverts", "s ouverts"},
	};

	for (size_t i = 0; i < array_length(rows); i++) {
		char *texts cleanup_free = log_regex_texts(rows[i].regex);
		if (!str_equal(texts, rows[i].texts))
			fail_msg("%s: %s", rows[i].regex, texts ? texts : "none");
	}
}

static void a_text_is_found(void **state)
{
	static const struct {
		const char *text, *line;
		bool any_case, is_found;
	} rows[] = {
		{"loss", "the loss is", false, true},
		{"loss", "the Loss is", false, false},
		{"loss", "the LOSS is", true, true},
		{"LOSS", "a loss", true, true},
		{"loss", "los", false, false},
		{"a\nloss", "no loss", false, true},
		{"q\nx", "no loss", false, false},
		{"[", "@{", true, false},
		{"loss 0.5", "\x1b[1mLoss\x1b[0m \x1b[38;5;2m0.5\x1b[m", true, true},
		{"[1m", "\x1b[1mloss", false, true},
		{"loss", "lo\x1b]0;a title\x07ss", false, true},
	};

	for (size_t i = 0; i < array_length(rows); i++) {
		struct log_search search = {.text = mem_strdup(rows[i].text),
					    .any_case = rows[i].any_case};
		assert_true(log_search_is_valid(rows[i].text));
		log_search_prepare(&search);
		assert_int_equal(log_search_finds(&search, rows[i].line, strlen(rows[i].line)),
				 rows[i].is_found);
		log_search_finish(&search);
	}
}

/* All that is found now, joined, each span behind its place. */
static char *read_found(struct log_source *found)
{
	struct str text = {0};
	struct log_span span;

	while (log_source_next(found, LOG_SPAN_MAX, &span)) {
		str_append_format(&text, "%d:", (int)span.offset);
		str_append_bytes(&text, span.bytes, span.length);
	}
	return str_steal(&text);
}

static struct log_source *open_found(void **state, const char *text)
{
	const struct log_search search = {.text = (char *)text};

	return log_filter_open(log_file_open(scratch_path(state, "stdout")), &search);
}

/* Another reader goes on there, on whichever machine. */
static void a_search_goes_on_where_it_was(void **state)
{
	struct log_source *found = open_found(state, "x");
	char position[LOG_POSITION_SIZE];
	struct log_span span;

	scratch_write(state, "stdout.1", "x1\nno\nx", 0600);
	scratch_write(state, "stdout", "x2\nx3\nno\nno x", 0600);
	assert_true(log_source_next(found, 2, &span));
	assert_int_equal(span.length, 2);
	log_source_tell(found, position);
	struct log_source *other = open_found(state, "x");
	assert_int_equal(log_source_seek(other, position), 0);
	assert_text_freed(read_found(found), "2:\n6:x0:x2\n3:x3\n");
	assert_text_freed(read_found(other), "2:\n6:x0:x2\n3:x3\n");
	log_source_tell(found, position);
	scratch_append(state, "stdout", " and\nx4\n");
	assert_int_equal(log_source_seek(other, position), 0);
	assert_text_freed(read_found(other), "9:no x and\n18:x4\n");
	assert_text_freed(read_found(found), "9:no x and\n18:x4\n");
	scratch_append(state, "stdout", "ax");
	assert_text_freed(read_found(found), "");
	found->takes_begun = true;
	assert_text_freed(read_found(found), "21:ax");
	log_source_destroy(found);
	log_source_destroy(other);
}

/* A search has had its turn after so many of these lines, whether it finds them or not. */
static void assert_turns(void **state, const char *text, const char *line, int turn)
{
	struct str all cleanup_str = {0};
	struct log_span span;
	int turns = 0, found_lines = 0;

	for (int i = 0; i < 5 * turn; i++)
		str_append_format(&all, "%s\n", line);
	str_append(&all, "x\n");
	scratch_write(state, "stdout", all.text, 0600);
	struct log_source *found = open_found(state, text);
	do {
		while (log_source_next(found, LOG_SPAN_MAX, &span))
			found_lines++;
		turns += found->is_busy;
	} while (found->is_busy);
	assert_int_equal(turns, 5);
	assert_int_equal(found_lines, 1 + (*line == 'x' ? 5 * turn : 0));
	log_source_destroy(found);
}

/* promise: S63 */
static void a_search_gives_others_their_turn(void **state)
{
	char line[LOG_LINE_WORK + 1] = "";

	assert_turns(state, "x", line, LOG_TURN / LOG_LINE_WORK);
	assert_turns(state, "a\nb\nc\nx", line, LOG_TURN / LOG_LINE_WORK / 4);
	memset(line, 'a', LOG_LINE_WORK);
	assert_turns(state, "x", line, LOG_TURN / LOG_LINE_WORK / 2);
	*line = 'x';
	assert_turns(state, "x\nb", line, LOG_TURN / LOG_LINE_WORK / 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_without_which_no_line_matches),
		cmocka_unit_test(a_text_is_found),
		scratch_test(a_search_goes_on_where_it_was),
		scratch_test(a_search_gives_others_their_turn),
	};

	return cmocka_run_group_tests_name("log search", tests, NULL, NULL);
}
