/* Lines that are looked for where the log is: a text is found, and for an expression the texts that
 * every line has which matches it. */
#include "../base/scratch.h"
#include "../base/test.h"

#include <stdio.h>

#include "base/mem.h"
#include "base/str.h"
#include "logs/count.h"
#include "logs/file.h"
#include "logs/filter.h"
#include "logs/lines.h"
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

static struct log_source *open_counts(void **state)
{
	return log_filter_open(log_file_open(scratch_path(state, "stdout")),
			       &(struct log_search){.counts = true});
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

/* The next search takes what was written since, and begins with the line that was not whole. */
static void a_line_that_is_not_whole_ends_a_search(void **state)
{
	for (int finds = 0; finds < 2; finds++) {
		struct log_source *found = open_found(state, finds ? "begun" : "ended");
		char position[LOG_POSITION_SIZE];

		found->takes_begun = true;
		scratch_write(state, "stdout", "no\nbegun", 0600);
		assert_text_freed(read_found(found), finds ? "3:begun" : "");
		scratch_append(state, "stdout", " and ended\nbegun, ended\n");
		assert_text_freed(read_found(found), "");
		log_source_tell(found, position);
		assert_int_equal(log_source_seek(found, position), 0);
		assert_text_freed(read_found(found), "3:begun and ended\n19:begun, ended\n");
		log_source_destroy(found);
	}
}

static void write_long_line(void **state, const char *end)
{
	struct str text cleanup_str = {0};

	for (int i = 0; i < LOG_LINE_CAP + 4; i++)
		str_append(&text, "y");
	str_append(&text, end);
	scratch_write(state, "stdout", text.text, 0600);
}

/* The identity of the part that is written now, from what a search finds there. */
static uint64_t part_of(void **state, const char *text)
{
	struct log_source *found = open_found(state, text);
	struct log_span span;

	found->takes_begun = true;
	assert_true(log_source_next(found, 1, &span));
	log_source_destroy(found);
	return span.part;
}

static void assert_found_from(struct log_source *found, uint64_t part, int64_t offset,
			      const char *text)
{
	const struct log_position at = {.kind = LOG_AT_PART, .part = part, .number = offset};

	log_source_go(found, &at);
	assert_text_freed(read_found(found), text);
}

/* An answer breaks off wherever its limit is, also in the midst of the text. */
static void the_rest_of_a_line_is_told_if_the_line_is_found(void **state)
{
	struct log_source *found = open_found(state, "needle");

	scratch_write(state, "stdout", "a needle 1\nanother\nneedle 2\n", 0600);
	uint64_t part = part_of(state, "needle");
	assert_found_from(found, part, 5, "5:dle 1\n19:needle 2\n");
	assert_found_from(found, part, 9, "9:1\n19:needle 2\n");
	assert_found_from(found, part, 10, "10:\n19:needle 2\n");
	assert_found_from(found, part, 11, "19:needle 2\n");
	assert_found_from(found, part, 14, "19:needle 2\n");
	log_source_destroy(found);
}

/* Its pieces are lines of their own, of which none is told that was not found. */
static void the_rest_of_a_long_line_is_no_line_that_was_found(void **state)
{
	struct log_source *found = open_found(state, "needle");
	char position[LOG_POSITION_SIZE];

	found->takes_begun = true;
	write_long_line(state, "");
	assert_text_freed(read_found(found), "");
	log_source_tell(found, position);
	assert_int_equal(log_source_seek(found, position), 0);
	assert_text_freed(read_found(found), "");
	write_long_line(state, "\nneedle\n");
	assert_found_from(found, part_of(state, "y"), LOG_LINE_CAP, "65541:needle\n");
	log_source_destroy(found);
}

/* An answer may break off within a character, where no piece begins. */
static void the_rest_of_a_long_line_begins_at_any_byte(void **state)
{
	struct log_source *found = open_found(state, "needle");
	struct str text cleanup_str = {0};

	str_append(&text, "x");
	while (text.length < LOG_LINE_CAP + 5)
		str_append(&text, "é");
	str_append(&text, "\nneedle\n");
	scratch_write(state, "stdout", text.text, 0600);
	const uint64_t part = part_of(state, "x");
	for (int64_t from = LOG_LINE_CAP - 3; from < LOG_LINE_CAP + 3; from++)
		assert_found_from(found, part, from, "65542:needle\n");
	log_source_destroy(found);
	found = open_found(state, "é");
	for (int64_t from = LOG_LINE_CAP; from < LOG_LINE_CAP + 2; from++) {
		char *expected cleanup_free = mem_printf("%d:%s", (int)from, text.text + from);
		expected[strlen(expected) - strlen("needle\n")] = '\0';
		assert_found_from(found, part, from, expected);
	}
	log_source_destroy(found);
}

static void the_first_line_of_a_part_is_not_the_rest_of_one_before(void **state)
{
	struct log_source *found = open_found(state, "needle");

	scratch_write(state, "stdout", "no\na needle", 0600);
	uint64_t part = part_of(state, "needle");
	assert_int_equal(rename(scratch_path(state, "stdout"), scratch_path(state, "stdout.1")), 0);
	scratch_write(state, "stdout", "zzz\n", 0600);
	assert_found_from(found, part, 11, "");
	assert_found_from(found, part, 7, "7:edle");
	log_source_destroy(found);
}

/* As after the end of a search that follows: it stays where it was. */
static void a_search_that_began_within_a_line_goes_on_there(void **state)
{
	struct log_source *found = open_found(state, "needle");
	char position[LOG_POSITION_SIZE];

	scratch_write(state, "stdout", "a needle", 0600);
	uint64_t part = part_of(state, "needle");
	assert_found_from(found, part, 5, "");
	log_source_tell(found, position);
	scratch_append(state, "stdout", " 1\n");
	assert_int_equal(log_source_seek(found, position), 0);
	assert_text_freed(read_found(found), "5:dle 1\n");
	log_source_destroy(found);
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

/* As one reader after the other gets them: "LINES:OFFSET " of each span. */
static char *read_counts(struct log_source *counts)
{
	struct str text = {0};
	struct log_span span;

	do {
		while (log_source_next(counts, 1, &span)) {
			assert_int_equal(span.length, 1);
			str_append_format(&text, "%d:%d ", (int)span.time_ms, (int)span.offset);
		}
	} while (counts->is_busy);
	return str_steal(&text);
}

/* promise: S63 */
static void lines_are_counted_in_turns(void **state)
{
	enum { LINES = 3 * LOG_COUNT_STEP / 64 + 1 }; /* and a half */
	struct str all cleanup_str = {0};
	char position[LOG_POSITION_SIZE];
	struct log_span span;
	int turns = 0;

	for (int i = 0; i < LINES; i++)
		str_append_format(&all, "%063d\n", i);
	str_append(&all, "begun");
	scratch_write(state, "stdout.1", "old\n", 0600);
	scratch_write(state, "stdout", all.text, 0600);
	struct log_source *counts = open_counts(state);
	while (!log_source_next(counts, LOG_SPAN_MAX, &span) && counts->is_busy)
		turns++;
	assert_int_equal(turns, LOG_COUNT_STEP / LOG_TURN - 1); /* it is told in the last one */
	assert_int_equal(span.time_ms, LOG_COUNT_STEP / 64);
	log_source_next(counts, LOG_SPAN_MAX, &span); /* within the next step */
	log_source_tell(counts, position);
	struct log_source *other = open_counts(state);
	assert_int_equal(log_source_seek(other, position), 0);
	assert_text_freed(read_counts(counts), "16384:2097152 16384:3145728 ");
	assert_text_freed(read_counts(other), "16384:2097152 16384:3145728 ");
	log_source_destroy(counts);
	log_source_destroy(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_without_which_no_line_matches),
		cmocka_unit_test(a_text_is_found),
		scratch_test(a_search_goes_on_where_it_was),
		scratch_test(a_line_that_is_not_whole_ends_a_search),
		scratch_test(the_rest_of_a_line_is_told_if_the_line_is_found),
		scratch_test(the_rest_of_a_long_line_is_no_line_that_was_found),
		scratch_test(the_rest_of_a_long_line_begins_at_any_byte),
		scratch_test(the_first_line_of_a_part_is_not_the_rest_of_one_before),
		scratch_test(a_search_that_began_within_a_line_goes_on_there),
		scratch_test(a_search_gives_others_their_turn),
		scratch_test(lines_are_counted_in_turns),
	};

	return cmocka_run_group_tests_name("log search", tests, NULL, NULL);
}
