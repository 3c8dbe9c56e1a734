/* A journal whose disk is full: nothing is there by half, and what is held comes with a later line.
 */
#include "sample.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "job/journal.h"

#define TIME 1795241651123

static json_t *note(const char *text)
{
	return json_pack("{ssss}", "ev", "note", "text", text);
}

static void append(struct journal *journal, const char *text)
{
	assert_int_equal(journal_append(journal, note(text), TIME, false, NULL), 0);
}

/* A journal of three lines; *length: its bytes. */
static struct journal *make_three(const char *path, size_t *length)
{
	struct journal *journal = journal_open(path, NULL);

	assert_non_null(journal);
	append(journal, "first");
	append(journal, "second");
	append(journal, "third");
	free(fs_read_file(path, 1 << 20, length, NULL));
	return journal;
}

static int collect(void *data, const struct journal_line *line, struct err *err)
{
	json_t *record cleanup_json = journal_line_record(line, err);

	str_append_format(data, "%s ", json_string_value(json_object_get(record, "text")));
	return 0;
}

static void assert_texts(const char *path, const char *expected)
{
	struct str found cleanup_str = {0};

	assert_int_equal(journal_read(path, 1, collect, &found, NULL), 0);
	assert_string_equal(found.text, expected);
}

/* Appends while the file may have so many bytes: write() fails beyond, as on a full disk. */
static int append_within(struct journal *journal, const char *text, size_t bytes)
{
	struct err err cleanup_err = {0};
	struct rlimit limit, old;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	limit = (struct rlimit){.rlim_cur = bytes, .rlim_max = old.rlim_max};
	setrlimit(RLIMIT_FSIZE, &limit);
	int result = journal_append(journal, note(text), TIME, true, &err);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_true(result == 0 || strstr(err_message(&err), "journal.jsonl: "));
	return result;
}

static void what_does_not_fit_leaves_no_trace(void **state)
{
	char *path cleanup_free = sample_path(state, "journal.jsonl");
	size_t length;
	struct journal *journal = make_three(path, &length);

	assert_int_equal(append_within(journal, "too much", length + 10), -1);
	assert_int_equal(journal_sequence(journal), 3);
	append(journal, "fourth");
	journal_close(journal);
	assert_texts(path, "first second third fourth ");
}

static void what_does_not_fit_is_held_for_the_next_append(void **state)
{
	char *path cleanup_free = sample_path(state, "journal.jsonl");
	size_t length;
	struct journal *journal = make_three(path, &length);

	journal_hold(journal, 4096);
	assert_int_equal(append_within(journal, "fourth", length + 10), 1);
	assert_int_equal(append_within(journal, "fifth", length + 10), 1);
	assert_int_equal(journal_sequence(journal), 3);
	assert_texts(path, "first second third ");
	append(journal, "sixth");
	assert_int_equal(journal_sequence(journal), 6);
	assert_texts(path, "first second third fourth fifth sixth ");
	append(journal, "seventh");
	journal_close(journal);
	assert_texts(path, "first second third fourth fifth sixth seventh ");
}

static void no_more_than_the_cap_is_held(void **state)
{
	char *path cleanup_free = sample_path(state, "journal.jsonl");
	size_t length;
	struct journal *journal = make_three(path, &length);

	journal_hold(journal, length / 2); /* of three lines */
	assert_int_equal(append_within(journal, "fourth", length + 10), 1);
	assert_int_equal(append_within(journal, "fifth", length + 10), -1);
	append(journal, "sixth");
	journal_close(journal);
	assert_texts(path, "first second third fourth sixth ");
}

static void lines_that_are_held_can_be_dropped(void **state)
{
	char *path cleanup_free = sample_path(state, "journal.jsonl");
	size_t length;
	struct journal *journal = make_three(path, &length);

	journal_hold(journal, 4096);
	assert_int_equal(append_within(journal, "much", length + 10), 1);
	journal_drop_held(journal);
	append(journal, "fourth");
	assert_int_equal(journal_sequence(journal), 4);
	journal_close(journal);
	assert_texts(path, "first second third fourth ");
}

#define in_directory(name) cmocka_unit_test_setup_teardown(name, sample_setup, sample_finish)

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_directory(what_does_not_fit_leaves_no_trace),
		in_directory(what_does_not_fit_is_held_for_the_next_append),
		in_directory(no_more_than_the_cap_is_held),
		in_directory(lines_that_are_held_can_be_dropped),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
