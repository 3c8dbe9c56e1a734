/* What portal/indexer.h promises: the index follows the store. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/scratch.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "portal/indexer.h"

struct stage {
	struct history_store *store;
	struct portal_index *index;
};

static struct stage open_stage(void **state)
{
	const struct stage stage = {history_store_open(scratch_path(state, "store"), NULL, NULL),
				    portal_index_open(scratch_path(state, "index.sqlite"), NULL)};

	assert_non_null(stage.store);
	assert_non_null(stage.index);
	return stage;
}

static void close_stage(const struct stage *stage)
{
	history_store_close(stage->store);
	portal_index_close(stage->index);
}

static void add_job(void **state, const char *id, const char *name)
{
	struct history_summary summary = {.id = (char *)id,
					  .name = (char *)name,
					  .user = (char *)"u",
					  .framework = (char *)"generic",
					  .state = JOB_SUCCEEDED};
	json_t *object cleanup_json = history_summary_to_json(&summary);
	char *text cleanup_free = json_text(object);
	char *path cleanup_free = mem_printf("store/2026/11/21/%s/summary.json", id);

	scratch_write(state, path, text, 0600);
}

static int64_t count(const struct stage *stage, const char *name)
{
	struct str text cleanup_str = {0};
	const struct portal_query query = {.name = name, .limit = 10};

	assert_int_equal(portal_index_list(stage->index, &query, &text, NULL), 0);
	json_t *answer cleanup_json = json_parse(text.text, text.length, NULL);
	return json_integer_value(json_object_get(answer, "total"));
}

static void look(const struct stage *stage)
{
	struct err err cleanup_err = {0};

	indexer_look(stage->index, stage->store, &err);
	assert_string_equal(err_message(&err), "no error");
}

static void jobs_come_and_go(void **state)
{
	struct stage stage = open_stage(state);

	look(&stage);
	assert_int_equal(count(&stage, NULL), 0);
	add_job(state, "tony-1", "first");
	add_job(state, "tony-2", "second");
	look(&stage);
	assert_int_equal(count(&stage, NULL), 2);
	fs_remove_tree(scratch_path(state, "store/2026/11/21/tony-1"), NULL);
	look(&stage);
	assert_int_equal(count(&stage, "first"), 0);
	assert_int_equal(count(&stage, "second"), 1);
	fs_remove_tree(scratch_path(state, "store/2026/11/21"), NULL);
	look(&stage);
	assert_int_equal(count(&stage, NULL), 0);
	close_stage(&stage);
}

static void a_folder_that_is_settled_is_not_read_again(void **state)
{
	struct stage stage = open_stage(state);
	const struct timespec old[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
	const char *day = scratch_path(state, "store/2026/11/21");

	add_job(state, "tony-1", "first");
	assert_int_equal(utimensat(AT_FDCWD, day, old, 0), 0);
	look(&stage);
	add_job(state, "tony-2", "second");
	assert_int_equal(utimensat(AT_FDCWD, day, old, 0), 0);
	look(&stage);
	assert_int_equal(count(&stage, NULL), 1);
	add_job(state, "tony-3", "third");
	look(&stage);
	assert_int_equal(count(&stage, NULL), 3);
	close_stage(&stage);
}

/* "state: message" of the job in the index; NULL: it is not there. The caller frees. */
static char *shown(const struct stage *stage, const char *id)
{
	struct portal_job job cleanup_portal_job = {0};

	if (portal_index_find(stage->index, id, NULL, &job, NULL) < 0)
		return NULL;
	json_t *summary cleanup_json = json_parse(job.summary, strlen(job.summary), NULL);
	const char *message = json_string_value(json_object_get(summary, "message"));
	return mem_printf("%s: %s", json_string_value(json_object_get(summary, "state")),
			  message ? message : "");
}

static void assert_damaged(const struct stage *stage, const char *id, const char *reason)
{
	char *text cleanup_free = shown(stage, id);

	if (!text || !str_starts_with(text, "damaged: ") || !strstr(text, reason))
		fail_msg("%s: shown as %s, not as damaged, %s", id, text ? text : "nothing",
			 reason);
}

/* A summary as it would be, with something else in place of a part of it. */
static void add_with(void **state, const char *id, const char *part, const char *instead)
{
	char *path cleanup_free = mem_printf("store/2026/11/21/%s/summary.json", id);

	add_job(state, id, "bad");
	char *text cleanup_free = fs_read_file(scratch_path(state, path), 65536, NULL, NULL);
	const char *at = strstr(text, part);
	assert_non_null(at);
	char *changed cleanup_free =
		mem_printf("%.*s%s%s", (int)(at - text), text, instead, at + strlen(part));
	scratch_write(state, path, changed, 0600);
}

static void add_large(void **state, const char *path)
{
	scratch_write(state, path, "{", 0600);
	assert_int_equal(truncate(scratch_path(state, path), 1 << 30), 0);
}

static void add_deep(void **state, const char *path)
{
	struct str text cleanup_str = {0};

	for (size_t i = 0; i < 100000; i++)
		str_append(&text, "{\"a\":[");
	scratch_write(state, path, text.text, 0600);
}

static void bad_entries_are_listed_and_hurt_no_other(void **state)
{
	struct stage stage = open_stage(state);

	scratch_write(state, "outside/summary.json", "{}", 0600);
	add_job(state, "good", "first");
	scratch_write(state, "store/2026/11/21/cut/summary.json", "{\"format\":1", 0600);
	scratch_write(state, "store/2026/11/21/bytes/summary.json", "\xff\xfe", 0600);
	add_with(state, "latin", "\"u\"", "\"u\xe9\"");
	scratch_write(state, "store/2026/11/21/half/events.jsonl", "", 0600);
	scratch_write(state, "store/2026/11/21/file.tar", "", 0600);
	assert_int_equal(
		symlink("../../../../outside", scratch_path(state, "store/2026/11/21/link")), 0);
	scratch_write(state, "store/2026/11/21/escape/x", "", 0600);
	assert_int_equal(
		symlink("/etc/passwd", scratch_path(state, "store/2026/11/21/escape/summary.json")),
		0);
	add_with(state, "other", "\"other\"", "\"good\"");
	add_with(state, "future", "\"submitted_ms\":0", "\"submitted_ms\":32503680000000");
	add_with(state, "undone", "\"succeeded\"", "\"running\"");
	add_large(state, "store/2026/11/21/large/summary.json");
	add_deep(state, "store/2026/11/21/deep/summary.json");
	scratch_write(state, "store/9999/12/31/good/summary.json", "{}", 0600);
	look(&stage);
	assert_damaged(&stage, "cut", "line 1");
	assert_damaged(&stage, "bytes", "");
	assert_damaged(&stage, "latin", "");
	assert_damaged(&stage, "half", "there is no job in it");
	assert_damaged(&stage, "file.tar", "is no directory");
	assert_damaged(&stage, "link", "is no directory");
	assert_damaged(&stage, "escape", "");
	assert_damaged(&stage, "other", "the job in it is another, good");
	assert_damaged(&stage, "future", "in the future");
	assert_damaged(&stage, "undone", "no end of a job");
	assert_damaged(&stage, "large", "is larger than");
	assert_damaged(&stage, "deep", "");
	char *good cleanup_free = shown(&stage, "good");
	assert_string_equal(good, "succeeded: ");
	assert_int_equal(count(&stage, NULL), 13);
	assert_int_equal(count(&stage, "first"), 1);
	close_stage(&stage);
}

static void what_was_damaged_may_become_whole(void **state)
{
	struct stage stage = open_stage(state);
	const struct timespec old[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
	const char *day = scratch_path(state, "store/2026/11/21");

	scratch_write(state, "store/2026/11/21/tony-1/summary.json", "{\"format\"", 0600);
	assert_int_equal(utimensat(AT_FDCWD, day, old, 0), 0);
	look(&stage);
	assert_damaged(&stage, "tony-1", "");
	add_job(state, "tony-1", "first");
	assert_int_equal(utimensat(AT_FDCWD, day, old, 0), 0);
	look(&stage);
	assert_int_equal(count(&stage, "first"), 1);
	assert_int_equal(count(&stage, NULL), 1);
	fs_remove_tree(scratch_path(state, "store/2026/11/21/tony-1"), NULL);
	look(&stage);
	assert_int_equal(count(&stage, NULL), 0);
	close_stage(&stage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(jobs_come_and_go),
		scratch_test(a_folder_that_is_settled_is_not_read_again),
		scratch_test(bad_entries_are_listed_and_hurt_no_other),
		scratch_test(what_was_damaged_may_become_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
