/* The journal of an AM, as the AM that follows finds it in HDFS, against a NameNode with a script.
 */
#include "../base/patience.h"
#include "../base/scratch.h"
#include "../hadoop/web_server.h"
#include "web_words.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "scheduler/journal_copy.h"
#include "scheduler/journal_note.h"
#include "scheduler/scheduler.h"
#include "store/access.h"
#include "store/store.h"

/* As AM 4 of the job. 0 and what it found, or -1 and the error. The caller frees. */
static int recover(void **state, const struct web_step *steps, size_t count, char **found,
		   struct err *err)
{
	struct store_access access = {true,
				      {.user = (char *)"alice", .fs = (char *)"hdfs://nn:8020"}};
	const struct scheduler_place place = {.journal = (char *)scratch_path(state, "found"),
					      .am_attempt = 4};
	struct web_server server;

	log_open("test", LOG_LEVEL_ERROR);
	web_server_start(&server, steps, count);
	str_list_add(&access.hdfs.webhdfs, server.url);
	struct store *store = store_open("hdfs://nn:8020/j", &access, -1, NULL, err);
	int result = journal_recover(store, scratch_path(state, "."), &place, err);
	store_close(store);
	web_server_stop(&server);
	*found = result == 0 ? scratch_read(state, "found") : NULL;
	assert_int_equal(fs_exists(place.journal), result == 0);
	web_server_finish(&server);
	str_list_finish(&access.hdfs.webhdfs);
	return result;
}

static void assert_found(void **state, const char *expected, const struct web_step *steps,
			 size_t count)
{
	struct err err cleanup_err = {0};
	char *found cleanup_free = NULL;

	assert_success(recover(state, steps, count, &found, &err), &err);
	assert_string_equal(found, expected);
}

#define JOURNALS                                                                                                       \
	{                                                                                                              \
		"GET /webhdfs/v1/j?op=LISTSTATUS",                                                                     \
			LIST(FILE_OF("job.json", "7") "," FILE_OF("journal-1.jsonl", "9") "," FILE_OF(                 \
				"journal-3.jsonl",                                                                     \
				"4") "," FILE_OF("journal-2.jsonl",                                                    \
						 "9") "," FILE_OF("journal-3.jsonl.part",                              \
								  "9") "," FILE_OF("journal-4."                        \
										   "jsonl",                            \
										   "9") "," FILE_OF("journal-x.jsonl", \
												    "9"))              \
	}
#define NO_NOTES                                                                                   \
	{                                                                                          \
		"GET /webhdfs/v1/j?op=GETXATTRS&user.name=alice&encoding=hex ",                    \
			JSON("200", "{\"XAttrs\":[]}")                                             \
	}
#define OPENS                                                                                      \
	{                                                                                          \
		"GET /webhdfs/v1/j/journal-3.jsonl?op=OPEN", LOCATION                              \
	}
#define CONTENT                                                                                    \
	{                                                                                          \
		"GET /data", "200 X\r\nConnection: close\r\nContent-Length: 4\r\n\r\none\n"        \
	}

static void the_newest_journal_before_is_brought(void **state)
{
	static const struct web_step steps[] = {NO_NOTES, JOURNALS, OPENS, CONTENT};

	assert_found(state, "one\n", steps, array_length(steps));
}

static char *note_of(int64_t offset, const char *bytes)
{
	struct str value cleanup_str = {0};

	assert_int_equal(journal_note_encode(offset, bytes, strlen(bytes), &value), 0);
	return webhdfs_attribute_encode(value.text, value.length);
}

/* What the AMs before had noted; the last one's note is of bytes from `offset` on. */
static char *notes_of(int64_t offset, const char *bytes)
{
	char *old cleanup_free = note_of(0, "old\n");
	char *value cleanup_free = note_of(offset, bytes);

	return mem_printf(JSON("200", "{\"XAttrs\":["
				      "{\"name\":\"user.tony.journal-3\",\"value\":\"%s\"},"
				      "{\"name\":\"user.other\",\"value\":\"0x31\"},"
				      "{\"name\":\"user.tony.journal-2\",\"value\":\"%s\"}]}"),
			  value, old);
}

static void what_was_noted_stands_behind_the_file(void **state)
{
	char *notes cleanup_free = notes_of(4, "two\nthree\n");
	char *older cleanup_free = notes_of(0, "one\n");
	const struct web_step steps[] = {{"op=GETXATTRS", notes}, JOURNALS, OPENS, CONTENT};
	const struct web_step kept[] = {{"op=GETXATTRS", older}, JOURNALS, OPENS, CONTENT};

	assert_found(state, "one\ntwo\nthree\n", steps, array_length(steps));
	assert_int_equal(unlink(scratch_path(state, "found")), 0);
	assert_found(state, "one\n", kept, array_length(kept));
}

/* The AM was lost while it made its first file. */
static void what_was_noted_is_enough_without_a_file(void **state)
{
	char *notes cleanup_free = notes_of(0, "one\ntwo\n");
	const struct web_step steps[] = {{"op=GETXATTRS", notes},
					 {"LISTSTATUS", LIST(FILE_OF("journal-2.jsonl", "9"))}};

	assert_found(state, "one\ntwo\n", steps, array_length(steps));
}

/* Of AM 4: its own, and what is none. "0x789c030000000001" is "", without an offset. */
static void what_is_no_note_is_passed_over(void **state)
{
	char *value cleanup_free = note_of(0, "one\n");
	char *negative cleanup_free = note_of(-1, "one\n");
	char *torn cleanup_free = mem_strndup(value, strlen(value) - 2);
	const struct {
		const char *name, *value;
	} rows[] = {
		{"journal-4", value},	      {"journal-0", value},
		{"journal-x", value},	      {"journal-", value},
		{"trusted.journal-3", value}, {"journal-3", ""},
		{"journal-3", "0x"},	      {"journal-3", "0x7"},
		{"journal-3", "0xzz"},	      {"journal-3", "\"one\""},
		{"journal-3", torn},	      {"journal-3", value + 2},
		{"journal-3", negative},      {"journal-3", "0x789c030000000001"},
	};
	struct journal_found found cleanup_journal_found = {.before = 4};
	struct str bytes cleanup_str = {0};

	for (size_t i = 0; i < array_length(rows); i++) {
		str_truncate(&bytes, 0);
		if (webhdfs_attribute_decode(rows[i].value, &bytes))
			journal_found_note(&found, rows[i].name, str_text(&bytes), bytes.length);
		assert_int_equal(found.attempt, 0);
	}
	str_truncate(&bytes, 0);
	assert_true(webhdfs_attribute_decode(value, &bytes));
	journal_found_note(&found, "journal-3", str_text(&bytes), bytes.length);
	assert_int_equal(found.attempt, 3);
}

static void hdfs_without_attributes_has_the_file(void **state)
{
	static const struct web_step steps[] = {{"op=GETXATTRS", FAILS},
						{"op=GETXATTRS", FAILS},
						{"op=GETXATTRS", FAILS},
						JOURNALS,
						OPENS,
						CONTENT};

	assert_found(state, "one\n", steps, array_length(steps));
}

/* The AM before was lost before it had written anything there, or before there was a directory. */
static void where_none_is_the_job_begins(void **state)
{
	static const struct web_step empty[] = {NO_NOTES,
						{"LISTSTATUS", LIST(FILE_OF("job.json", "7"))}};
	static const struct web_step nothing[] = {
		{"op=GETXATTRS", EXCEPTION("404", "FileNotFoundException")},
		{"LISTSTATUS", EXCEPTION("404", "FileNotFoundException")}};

	assert_found(state, "", empty, array_length(empty));
	assert_int_equal(unlink(scratch_path(state, "found")), 0);
	assert_found(state, "", nothing, array_length(nothing));
}

/* NameNodes and DataNodes fail as they like: an attempt that gave up would be one less. */
static void hdfs_that_fails_for_a_while_is_asked_again(void **state)
{
	static const struct web_step steps[] = {
		{"op=GETXATTRS", NULL},
		NO_NOTES,
		{"LISTSTATUS", NULL},
		NO_NOTES,
		{"LISTSTATUS", EXCEPTION("403", "SafeModeException")},
		NO_NOTES,
		JOURNALS,
		{"op=OPEN", FAILS},
		NO_NOTES,
		JOURNALS,
		OPENS,
		{"GET /data", NULL},
		{"op=GET_BLOCK_LOCATIONS", EXCEPTION("403", "SafeModeException")},
		NO_NOTES,
		JOURNALS,
		OPENS,
		CONTENT,
	};

	assert_found(state, "one\n", steps, array_length(steps));
}

#define WITH_METRICS(length)                                                                       \
	{                                                                                          \
		"LISTSTATUS",                                                                      \
			LIST(FILE_OF("journal-3.jsonl", "4") "," FILE_OF("metrics.jsonl", length)) \
	}
#define OPENS_METRICS                                                                              \
	{                                                                                          \
		"GET /webhdfs/v1/j/metrics.jsonl?op=OPEN", LOCATION                                \
	}

static void the_metrics_so_far_come_with_it(void **state)
{
	static const struct web_step steps[] = {NO_NOTES, WITH_METRICS("4"), OPENS,
						CONTENT,  OPENS_METRICS,     CONTENT};

	assert_found(state, "one\n", steps, array_length(steps));
	char *metrics cleanup_free = scratch_read(state, "metrics.jsonl");
	assert_string_equal(metrics, "one\n");
	assert_false(fs_exists(scratch_path(state, "metrics.jsonl.part")));
}

static void the_journal_is_there_without_the_metrics(void **state)
{
	static const struct web_step fails[] = {
		NO_NOTES,
		WITH_METRICS("4"),
		OPENS,
		CONTENT,
		{"op=OPEN", EXCEPTION("403", "AccessControlException")}};
	static const struct web_step large[] = {NO_NOTES, WITH_METRICS("67108865"), OPENS, CONTENT};

	assert_found(state, "one\n", fails, array_length(fails));
	assert_int_equal(unlink(scratch_path(state, "found")), 0);
	assert_found(state, "one\n", large, array_length(large));
	assert_false(fs_exists(scratch_path(state, "metrics.jsonl")));
	assert_false(fs_exists(scratch_path(state, "metrics.jsonl.part")));
}

static void who_may_not_read_gives_up_at_once(void **state)
{
	static const struct web_step steps[] = {
		NO_NOTES, JOURNALS, {"op=OPEN", EXCEPTION("403", "AccessControlException")}};
	struct err err cleanup_err = {0};
	char *found cleanup_free = NULL;

	assert_int_equal(recover(state, steps, array_length(steps), &found, &err), -1);
	assert_int_equal(err.kind, ERR_DENIED);
	assert_message_has(&err, "the journal of the application master before: ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(the_newest_journal_before_is_brought),
		scratch_test(what_was_noted_stands_behind_the_file),
		scratch_test(what_was_noted_is_enough_without_a_file),
		scratch_test(what_is_no_note_is_passed_over),
		scratch_test(hdfs_without_attributes_has_the_file),
		scratch_test(where_none_is_the_job_begins),
		scratch_test(hdfs_that_fails_for_a_while_is_asked_again),
		scratch_test(the_metrics_so_far_come_with_it),
		scratch_test(the_journal_is_there_without_the_metrics),
		scratch_test(who_may_not_read_gives_up_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
