#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "../base/scratch.h"
#include "../base/test.h"
#include "../hadoop/web_server.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "history/retain.h"
#include "store/access.h"

#define NOW_MS 1795241640000 /* 2026-11-21 */

static void add_job(void **state, const char *day, const char *id, int64_t bytes)
{
	struct history_summary summary = {.id = (char *)id,
					  .name = (char *)"n",
					  .user = (char *)"u",
					  .framework = (char *)"generic",
					  .state = JOB_SUCCEEDED,
					  .bytes = bytes};
	json_t *object cleanup_json = history_summary_to_json(&summary);
	char *text cleanup_free = json_text(object);
	char *path cleanup_free = mem_printf("store/%s/%s/summary.json", day, id);

	scratch_write(state, path, text, 0600);
}

static struct history_retained retain(void **state, const struct history_retention *retention)
{
	struct history_store *store = history_store_open(scratch_path(state, "store"), NULL, NULL);
	struct history_retained retained;

	assert_int_equal(history_retain(store, retention, NOW_MS, &retained, NULL), 0);
	history_store_close(store);
	return retained;
}

static void set_time(void **state, const char *name, int64_t ms)
{
	const struct timespec times[] = {{.tv_sec = ms / 1000}, {.tv_sec = ms / 1000}};

	assert_int_equal(utimensat(AT_FDCWD, scratch_path(state, name), times, 0), 0);
}

static bool is_there(void **state, const char *name)
{
	char *path cleanup_free = mem_printf("store/%s", name);

	return fs_exists(scratch_path(state, path));
}

static void what_is_too_old_goes_by_whole_days(void **state)
{
	const struct history_retention retention = {.age_ms = 3 * HISTORY_DAY_MS};

	add_job(state, "2026/11/21", "today", 0);
	add_job(state, "2026/11/18", "in-time", 0);
	add_job(state, "2026/11/17", "too-old", 0);
	scratch_write(state, "store/2026/11/17/.killed.1/job.json", "{}", 0600);
	set_time(state, "store/2026/11/17/.killed.1", NOW_MS - 4 * HISTORY_DAY_MS);
	scratch_write(state, "store/2026/11/16/.begun.1/job.json", "{}", 0600);
	set_time(state, "store/2026/11/16/.begun.1", NOW_MS);
	scratch_write(state, "store/finished/2020/01/01/application_1_1/x.jhist", "", 0600);
	struct history_retained retained = retain(state, &retention);
	assert_int_equal(retained.kept, 2);
	assert_int_equal(retained.removed, 2);
	assert_int_equal(retained.failed, 0);
	assert_true(is_there(state, "2026/11/18/in-time"));
	assert_false(is_there(state, "2026/11/17"));
	assert_false(is_there(state, "finished/2020/01/01"));
	assert_true(is_there(state, "2026/11/16/.begun.1")); /* it may be in publication */
}

static void what_is_nobodys_job_stays(void **state)
{
	const struct history_retention retention = {.age_ms = HISTORY_DAY_MS, .bytes = 1};

	scratch_write(state, "store/2020/01/01/photos/cat.jpg", "meow", 0600);
	scratch_write(state, "store/2020/01/01/list.txt", "", 0600);
	struct history_retained retained = retain(state, &retention);
	assert_int_equal(retained.removed, 0);
	assert_true(is_there(state, "2020/01/01/photos/cat.jpg"));
	assert_true(is_there(state, "2020/01/01/list.txt"));
}

static void what_is_too_much_goes_oldest_first(void **state)
{
	const struct history_retention retention = {.bytes = 250};

	add_job(state, "2026/11/21", "newest", 100);
	add_job(state, "2026/11/20", "newer", 100);
	add_job(state, "2026/11/19", "large", 100);
	add_job(state, "2026/11/18", "small", 10);
	struct history_retained retained = retain(state, &retention);
	assert_int_equal(retained.kept, 2);
	assert_int_equal(retained.bytes_kept, 200);
	assert_int_equal(retained.removed, 2);
	assert_int_equal(retained.bytes_removed, 110);
	assert_true(is_there(state, "2026/11/20/newer"));
	assert_false(is_there(state, "2026/11/19/large"));
	assert_false(is_there(state, "2026/11/18/small"));
}

static void a_foreign_job_is_measured(void **state)
{
	const struct history_retention retention = {.bytes = 100};
	char text[90];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	add_job(state, "2026/11/21", "newest", 50);
	scratch_write(state, "store/finished/2026/11/20/application_1_1/x.jhist", text, 0600);
	struct history_retained retained = retain(state, &retention);
	assert_int_equal(retained.kept, 1);
	assert_int_equal(retained.removed, 1);
	assert_int_equal(retained.bytes_removed, 89);
}

static void note_removal(void *data, const char *text)
{
	str_list_add(data, text);
}

static void each_removal_is_told(void **state)
{
	struct str_list log cleanup_str_list = {0};
	const struct history_retention retention = {
		.bytes = 50, .on_removed = note_removal, .data = &log};

	add_job(state, "2026/11/21", "newest", 40);
	add_job(state, "2026/11/20", "older", 40);
	assert_int_equal(retain(state, &retention).removed, 1);
	assert_int_equal(log.count, 1);
	assert_text_has(log.items[0], "/store/2026/11/20/older of u, 40 B: removed, the oldest");
}

/* A day to come is as old as what is in it. */
static void day_to_come_shields_nothing(void **state)
{
	const struct history_retention retention = {.age_ms = 3 * HISTORY_DAY_MS};

	add_job(state, "2099/01/01", "old", 10);
	set_time(state, "store/2099/01/01/old", NOW_MS - 4 * HISTORY_DAY_MS);
	add_job(state, "2099/01/01", "new", 10);
	set_time(state, "store/2099/01/01/new", NOW_MS);
	assert_int_equal(retain(state, &retention).removed, 1);
	assert_false(is_there(state, "2099/01/01/old"));
}

/* ---- whose go ----------------------------------------------------------------------------- */

/* promise: S141 */
static void users_flood_takes_nothing_from_others(void **state)
{
	struct history_weight jobs[] = {{"b", 9, 400, false}, {"a", 8, 50, false},
					{"b", 7, 400, false}, {"a", 1, 50, false},
					{"c", 2, 60, false},  {"b", 5, 400, false}};
	static const bool goes[] = {false, false, true, false, false, true};

	history_retain_choose(jobs, array_length(jobs), 600);
	for (size_t i = 0; i < array_length(jobs); i++)
		assert_int_equal(jobs[i].goes, goes[i]);
}

static void sum_of_sizes_does_not_overflow(void **state)
{
	struct history_weight jobs[] = {
		{"b", 9, INT64_MAX, false}, {"b", 7, INT64_MAX, false}, {"a", 8, 50, false}};

	history_retain_choose(jobs, array_length(jobs), 100);
	assert_true(jobs[0].goes && jobs[1].goes);
	assert_false(jobs[2].goes);
}

static void limit_that_is_met_removes_nothing(void **state)
{
	struct history_weight jobs[] = {{"a", 1, 50, false}, {"b", 1, 50, false}};

	history_retain_choose(jobs, array_length(jobs), 100);
	assert_false(jobs[0].goes || jobs[1].goes);
	history_retain_choose(jobs, array_length(jobs), 49);
	assert_true(jobs[0].goes && jobs[1].goes);
	history_retain_choose(NULL, 0, 1);
}

/* ---- in a bucket -------------------------------------------------------------------------- */

#define XML(body)     "200 X\r\nConnection: close\r\n\r\n<?xml version=\"1.0\"?>" body
#define PAGE(body)    XML("<ListBucketResult>" body "</ListBucketResult>")
#define BELOW(prefix) "<CommonPrefixes><Prefix>h/" prefix "/</Prefix></CommonPrefixes>"
#define KEY(key, time)                                                                             \
	"<Contents><Key>h/" key "</Key><LastModified>" time "</LastModified><Size>1</Size></"      \
	"Contents>"
#define OLD	 "2026-11-21T05:13:00.000Z"
#define YOUNG	 "2026-11-21T05:15:00.000Z"
#define AT(path) "prefix=h%2F2020%2F01%2F01%2F" path "%2F&delimiter"
#define DAY                                                                                        \
	{"prefix=h%2F&delimiter", PAGE(BELOW("2020"))},                                            \
		{"prefix=h%2F2020%2F&delimiter", PAGE(BELOW("2020/01"))},                          \
		{"prefix=h%2F2020%2F01%2F&delimiter", PAGE(BELOW("2020/01/01"))},                  \
		{"prefix=h%2Ffinished%2F&delimiter", PAGE("")},                                    \
	{                                                                                          \
		"prefix=h%2F&delimiter", PAGE(BELOW("2020"))                                       \
	}

static struct history_store *open_bucket(struct web_server *server, const struct web_step *steps,
					 size_t count)
{
	web_server_start(server, steps, count);
	const struct store_access access = {
		.has_s3 = true,
		.s3 = {server->url, (char *)"here", (char *)"id", (char *)"secret"}};
	return history_store_open("s3://bucket/h", &access, NULL);
}

static void close_bucket(struct web_server *server, struct history_store *store)
{
	history_store_close(store);
	web_server_stop(server);
	web_server_finish(server);
}

static void what_a_killed_publication_left_in_a_bucket_goes(void **state)
{
	const struct history_retention retention = {.age_ms = HISTORY_DAY_MS};
#define DAYS_OF_THREE                                                                              \
	PAGE(BELOW("2020/01/01/young") BELOW("2020/01/01/photos") BELOW("2020/01/01/left"))
#define YOUNG_PAGE PAGE(KEY("2020/01/01/young/job.json", YOUNG))
#define OTHER_PAGE PAGE(KEY("2020/01/01/photos/cat.jpg", OLD))
#define LEFT_PAGE  PAGE(KEY("2020/01/01/left/job.json", OLD))
	static const struct web_step steps[] = {
		DAY,
		{"prefix=h%2F2020%2F01%2F01%2F&delimiter", DAYS_OF_THREE},
		{AT("young"), YOUNG_PAGE}, /* half of a job's, and its age */
		{AT("young"), YOUNG_PAGE},
		{AT("photos"), OTHER_PAGE},
		{AT("left"), LEFT_PAGE},
		{AT("left"), LEFT_PAGE},
		{"DELETE /bucket/h/2020/01/01/left HTTP", "204 X\r\nConnection: close\r\n\r\n"},
		{"prefix=h%2F2020%2F01%2F01%2Fleft%2F ", LEFT_PAGE},
		{"POST /bucket/?delete", XML("<DeleteResult/>")},
		{"prefix=h%2F2020%2F01%2F01%2Fleft%2F ", PAGE("")},
		{"prefix=h%2F2020%2F01%2F01%2F&delimiter", DAYS_OF_THREE}, /* the day stays */
	};
	struct history_retained retained;
	struct err err cleanup_err = {0};
	struct web_server server;
	struct history_store *store = open_bucket(&server, steps, array_length(steps));

	assert_success(history_retain(store, &retention, NOW_MS, &retained, &err), &err);
	assert_int_equal(retained.removed + retained.failed, 0);
	close_bucket(&server, store);
}

static void half_a_history_in_a_bucket_is_found_as_such_alone(void **state)
{
	static const struct web_step steps[] = {DAY,
						{AT("j"), PAGE(KEY("2020/01/01/j/job.json", OLD))},
						DAY,
						{AT("j"), PAGE(KEY("2020/01/01/j/job.json", OLD))}};
	struct history_record record cleanup_history_record = {0};
	struct err err cleanup_err = {0};
	struct web_server server;
	struct history_store *store = open_bucket(&server, steps, array_length(steps));

	assert_int_equal(history_store_find(store, "j", NULL, NULL, &record, &err), -1);
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	err_finish(&err);
	char *part cleanup_free = history_store_find_part(store, "j", NULL, &err);
	assert_string_equal(part, "2020/01/01/j");
	close_bucket(&server, store);
}

#define REFUSED                                                                                    \
	"403 X\r\nConnection: close\r\n\r\n<?xml version=\"1.0\"?><Error><Code>AccessDenied"       \
	"</Code></Error>"

/* Else rm would remove what else there is of the job. */
static void list_that_fails_is_no_empty_one(void **state)
{
	static const struct web_step steps[] = {DAY, {AT("j"), REFUSED}};
	struct history_record record cleanup_history_record = {0};
	struct err err cleanup_err = {0};
	struct web_server server;
	struct history_store *store = open_bucket(&server, steps, array_length(steps));

	assert_int_equal(history_store_find(store, "j", NULL, NULL, &record, &err), -1);
	assert_int_equal(err.kind, ERR_DENIED);
	close_bucket(&server, store);
}

static void assert_kept_as_failed(const struct web_step *steps, size_t count)
{
	const struct history_retention retention = {.age_ms = HISTORY_DAY_MS};
	struct history_retained retained;
	struct err err cleanup_err = {0};
	struct web_server server;
	struct history_store *store = open_bucket(&server, steps, count);

	assert_success(history_retain(store, &retention, NOW_MS, &retained, &err), &err);
	assert_int_equal(retained.removed, 0);
	assert_int_equal(retained.failed, 1);
	close_bucket(&server, store);
}

static void entry_that_cannot_be_looked_at_stays(void **state)
{
	static const struct web_step steps[] = {
		DAY,
		{"prefix=h%2F2020%2F01%2F01%2F&delimiter", PAGE(BELOW("2020/01/01/a"))},
		{AT("a"), REFUSED},
		{"prefix=h%2F2020%2F01%2F01%2F&delimiter", PAGE(BELOW("2020/01/01/a"))},
	};
	assert_kept_as_failed(steps, array_length(steps));
}

/* A folder that is no day: the time of what is in it tells its age. */
static void age_that_cannot_be_told_is_no_age(void **state)
{
	static const struct web_step steps[] = {
		{"prefix=h%2F&delimiter", PAGE("")},
		{"prefix=h%2Ffinished%2F&delimiter", PAGE("")},
		{"prefix=h%2F&delimiter", PAGE(BELOW("intermediate"))},
		{"prefix=h%2Fintermediate%2F&delimiter", PAGE(BELOW("intermediate/j"))},
		{"prefix=h%2Fintermediate%2Fj%2F&delimiter", REFUSED},
	};
	assert_kept_as_failed(steps, array_length(steps));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(what_is_too_old_goes_by_whole_days),
		scratch_test(what_is_nobodys_job_stays),
		scratch_test(what_is_too_much_goes_oldest_first),
		scratch_test(a_foreign_job_is_measured),
		scratch_test(each_removal_is_told),
		scratch_test(day_to_come_shields_nothing),
		cmocka_unit_test(users_flood_takes_nothing_from_others),
		cmocka_unit_test(sum_of_sizes_does_not_overflow),
		cmocka_unit_test(limit_that_is_met_removes_nothing),
		cmocka_unit_test(what_a_killed_publication_left_in_a_bucket_goes),
		cmocka_unit_test(half_a_history_in_a_bucket_is_found_as_such_alone),
		cmocka_unit_test(list_that_fails_is_no_empty_one),
		cmocka_unit_test(entry_that_cannot_be_looked_at_stays),
		cmocka_unit_test(age_that_cannot_be_told_is_no_age),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
