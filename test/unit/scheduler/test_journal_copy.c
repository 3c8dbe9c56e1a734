/* The journal of an AM, as it is kept in a store: in HDFS, against a NameNode with a script, and in
 * a directory. */
#include "../base/scratch.h"
#include "../base/test.h"
#include "../hadoop/web_server.h"
#include "web_words.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "scheduler/journal_copy.h"
#include "scheduler/journal_note.h"
#include "scheduler/scheduler.h"
#include "store/access.h"
#include "store/store.h"

#define TRUE	JSON("200", "{\"boolean\":true}")
#define NOTHING JSON("200", "")
#define MADE	JSON("201", "")

#define MAKES_DIRECTORY                                                                            \
	{                                                                                          \
		"PUT /webhdfs/v1/j?op=MKDIRS&user.name=alice&permission=700 ", TRUE                \
	}
#define CREATES                                                                                    \
	"PUT /webhdfs/v1/j/journal-2.jsonl.part?op=CREATE&user.name=alice&overwrite=true"          \
	"&permission=600&noredirect=true "
#define MAKES_PART                                                                                 \
	{CREATES, LOCATION},                                                                       \
	{                                                                                          \
		"PUT /data", MADE                                                                  \
	}
#define NOTES                                                                                      \
	"PUT /webhdfs/v1/j?op=SETXATTR&user.name=alice&xattr.name=user.tony.journal-2"             \
	"&xattr.value=0x"
/* Asked for a note as well, which it refuses: there are no more. */
#define MAKES_FIRST_PART                                                                           \
	{CREATES, LOCATION}, {NOTES, EXCEPTION("400", "UnsupportedOperationException")},           \
	{                                                                                          \
		"PUT /data", MADE                                                                  \
	}
#define RENAMES                                                                                    \
	{                                                                                          \
		"PUT /webhdfs/v1/j/journal-2.jsonl.part?op=RENAME&user.name=alice"                 \
		"&destination=%2Fj%2Fjournal-2.jsonl&renameoptions=OVERWRITE ",                    \
			NOTHING                                                                    \
	}
#define APPENDS                                                                                    \
	{"POST /webhdfs/v1/j/journal-2.jsonl?op=APPEND", LOCATION},                                \
	{                                                                                          \
		"POST /data", NOTHING                                                              \
	}

/* ---- keeping ------------------------------------------------------------------------------ */

struct bed {
	void **state;
	struct event_base *base;
	struct web_server server;
	struct store *store;
	struct journal_copy *journal;
	int64_t appended, kept;
	int asked;  /* whether it may write */
	int denied; /* from this time of asking on it may not; 0: never */
	bool is_finished, was_let_go;
	char *trouble; /* NULL: none is told */
};

static bool may_write(void *data)
{
	struct bed *bed = data;

	bed->asked++;
	return bed->denied == 0 || bed->asked < bed->denied;
}

static void on_kept(void *data, int64_t sequence)
{
	struct bed *bed = data;

	bed->kept = sequence;
	bed->was_let_go |= sequence == INT64_MAX;
}

static void on_troubled(void *data, const char *text)
{
	mem_replace(&((struct bed *)data)->trouble, mem_strdup(text));
}

static void on_finished(void *data)
{
	((struct bed *)data)->is_finished = true;
}

static void open_bed(struct bed *bed, void **state, const struct web_step *steps, size_t count)
{
	struct store_access access = {true, {.user = (char *)"alice", .fs = (char *)"hdfs://nn"}};
	struct err err cleanup_err = {0};

	log_open("test", LOG_LEVEL_ERROR);
	*bed = (struct bed){.state = state, .base = event_base_new()};
	web_server_start(&bed->server, steps, count);
	str_list_add(&access.hdfs.webhdfs, bed->server.url);
	scratch_write(state, "journal", "", 0600);
	bed->store = store_open("hdfs://nn/j", &access, -1, bed->base, &err);
	const struct journal_copy_options options = {
		.base = bed->base,
		.store = bed->store,
		.journal = scratch_path(state, "journal"),
		.am_attempt = 2,
		.writer = {may_write, bed},
		.kept = on_kept,
		.troubled = on_troubled,
		.data = bed,
	};
	bed->journal = journal_copy_create(&options, &err);
	str_list_finish(&access.hdfs.webhdfs);
	if (!bed->journal)
		fail_msg("%s", err_message(&err));
}

/* Every step of the script was taken, and in the end this had been sent. */
static void close_bed(struct bed *bed, const char *bodies)
{
	journal_copy_destroy(bed->journal);
	store_close(bed->store);
	web_server_stop(&bed->server);
	assert_string_equal(str_text(&bed->server.bodies), bodies);
	web_server_finish(&bed->server);
	event_base_free(bed->base);
}

#define OPEN(bed, ...)                                                                             \
	const struct web_step steps_[] = {__VA_ARGS__};                                            \
	open_bed(bed, state, steps_, array_length(steps_))

static void append(struct bed *bed, const char *line)
{
	scratch_append(bed->state, "journal", line);
	journal_copy_appended(bed->journal, ++bed->appended);
}

static void wait_kept(struct bed *bed, int64_t sequence)
{
	while (bed->kept != sequence)
		event_base_loop(bed->base, EVLOOP_ONCE);
}

static void wait_asked(struct bed *bed, int times)
{
	while (bed->asked < times)
		event_base_loop(bed->base, EVLOOP_ONCE);
}

static void finish(struct bed *bed)
{
	journal_copy_finish(bed->journal, on_finished, bed);
	while (!bed->is_finished)
		event_base_loop(bed->base, EVLOOP_ONCE);
}

static void lines_are_kept_as_they_come(void **state)
{
	struct bed bed;

	OPEN(&bed, MAKES_DIRECTORY, MAKES_FIRST_PART, RENAMES, APPENDS, APPENDS);
	append(&bed, "one\n");
	wait_kept(&bed, 1);
	append(&bed, "two\n");
	append(&bed, "three\n");
	wait_kept(&bed, 3);
	close_bed(&bed, "one\ntwo\nthree\n");
}

/* One write is under way at most, and nothing is said to be kept before it is. */
static void what_comes_during_a_write_goes_with_the_next(void **state)
{
	struct bed bed;

	OPEN(&bed, MAKES_DIRECTORY, MAKES_FIRST_PART, RENAMES, APPENDS);
	append(&bed, "one\n");
	append(&bed, "two\n");
	append(&bed, "three\n");
	assert_int_equal(bed.kept, 0);
	wait_kept(&bed, 1);
	wait_kept(&bed, 3);
	close_bed(&bed, "one\ntwo\nthree\n");
}

/* How much of it was done nobody knows. Until it is, nobody waits. */
static void after_a_failure_the_file_is_made_anew(void **state)
{
	struct bed bed;

	OPEN(&bed, MAKES_DIRECTORY, MAKES_FIRST_PART, RENAMES,
	     {"POST /webhdfs/v1/j/journal-2.jsonl?op=APPEND", FAILS}, MAKES_DIRECTORY, MAKES_PART,
	     RENAMES);
	append(&bed, "one\n");
	wait_kept(&bed, 1);
	append(&bed, "two\n");
	wait_kept(&bed, INT64_MAX);
	wait_kept(&bed, 2);
	close_bed(&bed, "one\none\ntwo\n");
}

static int find_journal(const struct bed *bed)
{
	struct stat journal, open_file;

	assert_return_code(stat(scratch_path(bed->state, "journal"), &journal), errno);
	for (int fd = 0; fd < 1000; fd++)
		if (fstat(fd, &open_file) == 0 && open_file.st_ino == journal.st_ino &&
		    open_file.st_dev == journal.st_dev)
			return fd;
	fail_msg("the journal is not open");
	return -1;
}

/* Reading fails while the descriptor is one for writing. */
static void a_journal_that_cannot_be_read_is_tried_again(void **state)
{
	struct bed bed;

	OPEN(&bed, MAKES_DIRECTORY, MAKES_FIRST_PART, RENAMES, APPENDS);
	append(&bed, "one\n");
	wait_kept(&bed, 1);
	int fd = find_journal(&bed), readable cleanup_close = dup(fd);
	int broken cleanup_close = open(scratch_path(state, "journal"), O_WRONLY | O_CLOEXEC);
	assert_int_equal(dup2(broken, fd), fd);
	append(&bed, "two\n");
	wait_asked(&bed, bed.asked + 1);
	assert_int_not_equal(bed.kept, 2);
	assert_int_equal(dup2(readable, fd), fd);
	wait_kept(&bed, 2);
	close_bed(&bed, "one\ntwo\n");
}

/* ---- notes -------------------------------------------------------------------------------- */

/* What the last note says, by the AM that reads it, behind a file of so many bytes. */
static void assert_noted(const struct bed *bed, int64_t length, const char *expected)
{
	struct str bytes cleanup_str = {0};
	struct journal_found found cleanup_journal_found = {.before = 3};
	const char *value = strstr(str_text(&bed->server.heads), "xattr.value=");

	for (const char *next = value; next; next = strstr(value + 1, "xattr.value="))
		value = next;
	assert_non_null(value);
	value += strlen("xattr.value=");
	char *text cleanup_free = mem_strndup(value, strcspn(value, "&"));
	assert_non_null(strstr(value, "&flag=CREATE%2CREPLACE HTTP/1.1"));
	assert_true(webhdfs_attribute_decode(text, &bytes));
	journal_found_note(&found, "journal-2", str_text(&bytes), bytes.length);
	journal_found_file(&found, &(struct store_item){.name = (char *)"journal-2.jsonl"});
	size_t rest_length;
	const char *rest = journal_found_rest(&found, length, &rest_length);
	char *shown cleanup_free = mem_strndup(rest, rest_length);
	assert_string_equal(shown, expected);
}

static void what_a_data_node_takes_long_for_is_noted(void **state)
{
	char *address cleanup_free = NULL;
	int fd = web_silent(&address);
	char *location cleanup_free =
		mem_printf(JSON("200", "{\"Location\":\"http://%s/data?op=X\"}"), address);
	struct bed bed;

	OPEN(&bed, MAKES_DIRECTORY, {CREATES, location}, {NOTES, NOTHING}, {NOTES, NOTHING},
	     {NOTES, NOTHING});
	append(&bed, "one\n");
	wait_kept(&bed, 1);
	append(&bed, "two\n");
	append(&bed, "three\n");
	wait_kept(&bed, 3);
	journal_copy_destroy(mem_steal(&bed.journal));
	store_close(bed.store);
	web_server_stop(&bed.server);
	assert_noted(&bed, 0, "one\ntwo\nthree\n");
	assert_noted(&bed, 4, "two\nthree\n");
	web_server_finish(&bed.server);
	event_base_free(bed.base);
	close(fd);
}

/* 20,000 random letters are more than a note holds, but the line behind them is not. */
static void what_is_too_long_for_a_note_waits_for_the_file(void **state)
{
	char line[20002] = {0};
	unsigned seed = 1;
	struct bed bed;

	OPEN(&bed, MAKES_DIRECTORY, MAKES_PART, RENAMES, {NOTES, NOTHING}, APPENDS);
	for (size_t i = 0; i < sizeof(line) - 2; i++)
		line[i] = (char)(' ' + rand_r(&seed) % 95);
	line[sizeof(line) - 2] = '\n';
	append(&bed, line);
	wait_kept(&bed, 1);
	append(&bed, "two\n");
	wait_kept(&bed, 2);
	finish(&bed);
	journal_copy_destroy(mem_steal(&bed.journal));
	store_close(bed.store);
	web_server_stop(&bed.server);
	assert_noted(&bed, sizeof(line) - 1, "two\n");
	web_server_finish(&bed.server);
	event_base_free(bed.base);
}

/* Nobody has to go on without, as long as there is a NameNode. */
static void while_the_file_cannot_be_written_there_are_notes(void **state)
{
	struct bed bed;

	OPEN(&bed, MAKES_DIRECTORY, {CREATES, FAILS}, {NOTES, NOTHING}, {NOTES, NOTHING},
	     MAKES_DIRECTORY, MAKES_PART, RENAMES);
	append(&bed, "one\n");
	wait_kept(&bed, 1);
	append(&bed, "two\n");
	wait_kept(&bed, 2);
	while (bed.server.served < 8)
		event_base_loop(bed.base, EVLOOP_ONCE);
	finish(&bed);
	assert_false(bed.was_let_go);
	close_bed(&bed, "one\ntwo\n");
}

/* A NameNode that is away for a moment is one that takes notes. */
static void a_note_that_got_lost_is_made_again(void **state)
{
	struct bed bed;

	OPEN(&bed, MAKES_DIRECTORY, {CREATES, LOCATION}, {NOTES, NULL}, {"PUT /data", MADE},
	     RENAMES, {NOTES, NOTHING}, APPENDS);
	append(&bed, "one\n");
	wait_kept(&bed, 1);
	append(&bed, "two\n");
	wait_kept(&bed, 2);
	finish(&bed);
	close_bed(&bed, "one\ntwo\n");
}

/* ---- fencing ------------------------------------------------------------------------------ */

static void who_may_not_write_sends_nothing(void **state)
{
	struct bed bed;

	open_bed(&bed, state, NULL, 0);
	bed.denied = 1;
	append(&bed, "one\n");
	wait_asked(&bed, 3);
	assert_int_equal(bed.kept, 0);
	close_bed(&bed, "");
}

static void who_may_write_again_goes_on(void **state)
{
	struct bed bed;

	OPEN(&bed, MAKES_DIRECTORY, MAKES_FIRST_PART, RENAMES);
	bed.denied = 1;
	append(&bed, "one\n");
	wait_asked(&bed, 3);
	bed.denied = 0;
	wait_kept(&bed, 1);
	close_bed(&bed, "one\n");
}

/* Between any two of its steps it may have become one of several. */
/* promise: R46 */
static void it_is_asked_before_every_step(void **state)
{
	static const struct {
		int denied;
		const char *bodies;
		size_t count;
		struct web_step steps[4];
	} rows[] = {
		{2, "", 1, {MAKES_DIRECTORY}},
		{3, "one\n", 3, {MAKES_DIRECTORY, MAKES_PART}},
		{4, "one\n", 4, {MAKES_DIRECTORY, MAKES_FIRST_PART}},
	};

	for (size_t i = 0; i < array_length(rows); i++) {
		struct bed bed;
		open_bed(&bed, state, rows[i].steps, rows[i].count);
		bed.denied = rows[i].denied;
		append(&bed, "one\n");
		while (bed.server.served < rows[i].count)
			event_base_loop(bed.base, EVLOOP_ONCE);
		wait_asked(&bed, (bed.asked < rows[i].denied ? rows[i].denied : bed.asked) + 2);
		assert_int_equal(bed.kept, 0);
		close_bed(&bed, rows[i].bodies);
	}
}

/* Else an exit would be reported for as long as HDFS is away. */
static void after_a_while_nobody_waits(void **state)
{
	struct bed bed;

	open_bed(&bed, state, NULL, 0);
	bed.denied = 1;
	append(&bed, "one\n");
	wait_kept(&bed, INT64_MAX);
	close_bed(&bed, "");
}

/* ---- the end ------------------------------------------------------------------------------ */

static void the_end_waits_for_what_is_under_way(void **state)
{
	struct bed bed;

	OPEN(&bed, MAKES_DIRECTORY, MAKES_PART, RENAMES);
	append(&bed, "one\n");
	append(&bed, "two\n");
	journal_copy_finish(bed.journal, on_finished, &bed);
	assert_false(bed.is_finished);
	while (!bed.is_finished)
		event_base_loop(bed.base, EVLOOP_ONCE);
	assert_int_equal(bed.kept, 1);
	close_bed(&bed, "one\n");
}

static void without_a_write_the_end_is_at_once(void **state)
{
	struct bed bed;

	open_bed(&bed, state, NULL, 0);
	journal_copy_finish(bed.journal, on_finished, &bed);
	assert_true(bed.is_finished);
	append(&bed, "late\n");
	close_bed(&bed, "");
}

/* ---- a directory -------------------------------------------------------------------------- */

/* It has no notes, and needs none. */
static void a_directory_keeps_it_for_the_next(void **state)
{
	struct bed bed = {.state = state, .base = event_base_new()};
	struct err err cleanup_err = {0};
	const struct scheduler_place next = {.journal = (char *)scratch_path(state, "next"),
					     .am_attempt = 3};

	scratch_write(state, "journal", "", 0600);
	bed.store = store_open(scratch_path(state, "shared/job"), NULL, 0, bed.base, &err);
	const struct journal_copy_options options = {
		.base = bed.base,
		.store = bed.store,
		.journal = scratch_path(state, "journal"),
		.am_attempt = 2,
		.writer = {may_write, &bed},
		.kept = on_kept,
		.troubled = on_troubled,
		.data = &bed,
	};
	bed.journal = journal_copy_create(&options, &err);
	append(&bed, "one\n");
	wait_kept(&bed, 1);
	append(&bed, "two\n");
	append(&bed, "three\n");
	wait_kept(&bed, 3);
	assert_text_freed(scratch_read(state, "shared/job/journal-2.jsonl"), "one\ntwo\nthree\n");
	assert_success(journal_recover(bed.store, scratch_path(state, "."), &next, &err), &err);
	assert_text_freed(scratch_read(state, "next"), "one\ntwo\nthree\n");
	journal_copy_destroy(bed.journal);
	store_close(bed.store);
	event_base_free(bed.base);
}

static void trouble_that_stays_is_told_until_it_is_over(void **state)
{
	struct bed bed = {.state = state, .base = event_base_new()};
	struct err err cleanup_err = {0};

	scratch_write(state, "journal", "", 0600);
	scratch_write(state, "shared", "a file where a directory should be", 0600);
	bed.store = store_open(scratch_path(state, "shared/job"), NULL, 0, bed.base, &err);
	const struct journal_copy_options options = {
		.base = bed.base,
		.store = bed.store,
		.journal = scratch_path(state, "journal"),
		.am_attempt = 2,
		.writer = {may_write, &bed},
		.kept = on_kept,
		.troubled = on_troubled,
		.data = &bed,
	};
	bed.journal = journal_copy_create(&options, &err);
	append(&bed, "one\n");
	while (bed.asked < 3) {
		assert_null(bed.trouble);
		event_base_loop(bed.base, EVLOOP_ONCE);
	}
	while (!bed.trouble)
		event_base_loop(bed.base, EVLOOP_ONCE);
	assert_non_null(strstr(bed.trouble, scratch_path(state, "shared/job")));
	assert_int_equal(unlink(scratch_path(state, "shared")), 0);
	while (bed.trouble)
		event_base_loop(bed.base, EVLOOP_ONCE);
	assert_text_freed(scratch_read(state, "shared/job/journal-2.jsonl"), "one\n");
	journal_copy_destroy(bed.journal);
	store_close(bed.store);
	event_base_free(bed.base);
}

/* The list of splits changes only once. */
static void a_file_that_could_not_be_kept_follows_the_next_change_of_another(void **state)
{
	struct bed bed = {.state = state, .base = event_base_new()};
	const struct journal_writer writer = {may_write, &bed};
	struct err err cleanup_err = {0};

	scratch_write(state, SCHEDULER_SPLIT_LIST, "items", 0600);
	scratch_write(state, SCHEDULER_SPLIT_STATE, "some", 0600);
	bed.store = store_open(scratch_path(state, "shared/job"), NULL, 0, bed.base, &err);
	struct file_copies *copies = file_copies_create(bed.store, &writer, on_troubled, &bed);
	file_copies_written(copies, scratch_path(state, SCHEDULER_SPLIT_LIST));
	file_copies_written(copies, scratch_path(state, SCHEDULER_SPLIT_STATE));
	while (event_base_loop(bed.base, EVLOOP_ONCE) == 0 && !bed.trouble)
		file_copies_written(copies, scratch_path(state, SCHEDULER_SPLIT_STATE));
	scratch_write(state, "shared/job/file", "", 0600);
	while (bed.trouble) {
		file_copies_written(copies, scratch_path(state, SCHEDULER_SPLIT_STATE));
		event_base_loop(bed.base, EVLOOP_ONCE);
	}
	assert_text_freed(scratch_read(state, "shared/job/" SCHEDULER_SPLIT_LIST), "items");
	assert_text_freed(scratch_read(state, "shared/job/" SCHEDULER_SPLIT_STATE), "some");
	file_copies_destroy(copies);
	store_close(bed.store);
	event_base_free(bed.base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(lines_are_kept_as_they_come),
		scratch_test(what_comes_during_a_write_goes_with_the_next),
		scratch_test(after_a_failure_the_file_is_made_anew),
		scratch_test(a_journal_that_cannot_be_read_is_tried_again),
		scratch_test(what_a_data_node_takes_long_for_is_noted),
		scratch_test(what_is_too_long_for_a_note_waits_for_the_file),
		scratch_test(while_the_file_cannot_be_written_there_are_notes),
		scratch_test(a_note_that_got_lost_is_made_again),
		scratch_test(who_may_not_write_sends_nothing),
		scratch_test(who_may_write_again_goes_on),
		scratch_test(it_is_asked_before_every_step),
		scratch_test(after_a_while_nobody_waits),
		scratch_test(the_end_waits_for_what_is_under_way),
		scratch_test(without_a_write_the_end_is_at_once),
		scratch_test(a_directory_keeps_it_for_the_next),
		scratch_test(trouble_that_stays_is_told_until_it_is_over),
		scratch_test(a_file_that_could_not_be_kept_follows_the_next_change_of_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
