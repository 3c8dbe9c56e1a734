/* A history on its way into a store: held until its job's end is accepted, in HDFS, against a
 * NameNode with a script; and in a bucket, where nothing is renamed. */
#include "../base/scratch.h"
#include "../base/test.h"
#include "../hadoop/web_server.h"

#include <event2/event.h>

#include "base/log.h"
#include "base/mem.h"
#include "history/upload.h"
#include "store/access.h"

#define JSON(status, body)                                                                         \
	status " X\r\nConnection: close\r\nContent-Type: application/json\r\n\r\n" body
#define NOT_FOUND                                                                                  \
	JSON("404", "{\"RemoteException\":{\"exception\":\"FileNotFoundException\","               \
		    "\"javaClassName\":\"x.FileNotFoundException\",\"message\":\"no\"}}")
#define TRUE JSON("200", "{\"boolean\":true}")
#define DIRECTORY_OF(owner)                                                                        \
	JSON("200",                                                                                \
	     "{\"FileStatus\":{\"group\":\"g\",\"owner\":\"" owner "\",\"pathSuffix\":\"\","       \
	     "\"permission\":\"1777\",\"type\":\"DIRECTORY\",\"length\":0,"                        \
	     "\"modificationTime\":1}}")
#define MAKES                                                                                      \
	{"PUT /webhdfs/v1/history/2023?op=MKDIRS", TRUE},                                          \
		{"PUT /webhdfs/v1/history/2023/11?op=MKDIRS", TRUE},                               \
		{"PUT /webhdfs/v1/history/2023/11/14?op=MKDIRS", TRUE},                            \
	{                                                                                          \
		"PUT /webhdfs/v1/history/2023/11/14/.j.1?op=MKDIRS", TRUE                          \
	}
/* Of what is asked at once, either may come first. */
#define BRINGS                                                                                     \
	{"op=GETFILESTATUS", NOT_FOUND}, {"op=GETFILESTATUS", NOT_FOUND}, MAKES,                   \
		{"PUT /webhdfs/v1/history/2023/11/14/.j.1/summary.json?op=CREATE",                 \
		 JSON("200", "{\"Location\":\"http://@/data?op=X\"}")},                            \
	{                                                                                          \
		"PUT /data", JSON("201", "")                                                       \
	}
#define APPEARS                                                                                    \
	{                                                                                          \
		"PUT /webhdfs/v1/history/2023/11/14/.j.1?op=RENAME&user.name=alice"                \
		"&destination=%2Fhistory%2F2023%2F11%2F14%2Fj",                                    \
			TRUE                                                                       \
	}
#define GOES                                                                                       \
	{                                                                                          \
		"DELETE /webhdfs/v1/history/2023/11/14/.j.1?op=DELETE", TRUE                       \
	}

struct bed {
	struct event_base *base;
	struct web_server server;
	struct store *store;
	struct history_upload *upload;
	int ends;
	struct err err; /* of the end */
};

static void on_done(void *data, const struct err *err)
{
	struct bed *bed = data;

	bed->ends++;
	if (err)
		err_set(&bed->err, err->kind, "%s", err_message(err));
}

static void open_store(struct bed *bed, void **state, const char *location)
{
	const struct history_target target = {
		.submitted_ms = 1700000000000,
		.job_id = "j",
		.attempt = 1,
		.access = {.directory = 0700, .file = 0600},
	};
	struct store_access access = {true,
				      {.user = (char *)"alice", .fs = (char *)"hdfs://nn"},
				      true,
				      {bed->server.url, (char *)"r", (char *)"id", (char *)"key"}};
	struct err err cleanup_err = {0};

	str_list_add(&access.hdfs.webhdfs, bed->server.url);
	bed->store = store_open(location, &access, 0, bed->base, &err);
	str_list_finish(&access.hdfs.webhdfs);
	scratch_write(state, "packed/summary.json", "{}", 0600);
	bed->upload = history_upload_start(bed->store, scratch_path(state, "packed"), &target,
					   on_done, bed, &err);
	if (!bed->upload)
		fail_msg("%s", err_message(&err));
}

static void open_at(struct bed *bed, void **state, const char *location,
		    const struct web_step *steps, size_t count)
{
	log_open("test", LOG_LEVEL_ERROR);
	*bed = (struct bed){.base = event_base_new()};
	web_server_start(&bed->server, steps, count);
	open_store(bed, state, location);
}

static void open_bed(struct bed *bed, void **state, const struct web_step *steps, size_t count)
{
	open_at(bed, state, "hdfs://nn/history", steps, count);
	history_upload_hold(bed->upload);
}

/* Every step of the script was taken, and the end was told once. */
static void close_bed(struct bed *bed)
{
	while (bed->ends == 0)
		event_base_loop(bed->base, EVLOOP_ONCE);
	web_server_stop(&bed->server);
	web_server_finish(&bed->server);
	assert_int_equal(bed->ends, 1);
	store_close(bed->store);
	history_upload_destroy(bed->upload);
	err_finish(&bed->err);
	event_base_free(bed->base);
}

#define OPEN(bed, ...)                                                                             \
	const struct web_step steps_[] = {__VA_ARGS__};                                            \
	open_bed(bed, state, steps_, array_length(steps_))

/* All is there, beside its place, and nothing more is asked for. */
static void bring(struct bed *bed)
{
	event_base_dispatch(bed->base);
	assert_int_equal(bed->ends, 0);
}

static void what_is_held_appears_when_the_end_is_accepted(void **state)
{
	struct bed bed;

	OPEN(&bed, BRINGS, APPEARS);
	bring(&bed);
	history_upload_decide(bed.upload, true, NULL);
	close_bed(&bed);
}

static void nothing_is_left_of_it_when_the_end_is_refused(void **state)
{
	struct bed bed;

	OPEN(&bed, BRINGS, GOES);
	bring(&bed);
	history_upload_decide(bed.upload, false, "another one is at work");
	while (bed.ends == 0)
		event_base_loop(bed.base, EVLOOP_ONCE);
	assert_message_has(&bed.err, "another one is at work");
	close_bed(&bed);
}

static void what_was_decided_before_is_not_held(void **state)
{
	struct bed bed;

	OPEN(&bed, BRINGS, APPEARS);
	history_upload_decide(bed.upload, true, NULL);
	close_bed(&bed);
}

/* Another user's, and one that this user's other programs have published. */
#define FINDS(owner)                                                                               \
	{"op=GETFILESTATUS", DIRECTORY_OF(owner)}, {"op=GETFILESTATUS", DIRECTORY_OF(owner)},      \
		MAKES,                                                                             \
	{                                                                                          \
		"GET /webhdfs/v1/history/2023/11/14/.j.1?op=GETFILESTATUS", DIRECTORY_OF("alice")  \
	}

/* promise: S45 */
static void another_users_entry_at_the_place_is_told(void **state)
{
	struct bed bed;

	OPEN(&bed, FINDS("mallory"), GOES);
	while (bed.ends == 0)
		event_base_loop(bed.base, EVLOOP_ONCE);
	assert_message_has(&bed.err, "/history/2023/11/14/j: is there already, belongs to mallory");
	close_bed(&bed);
}

#define READS(summary)                                                                             \
	{"GET /webhdfs/v1/history/2023/11/14/j/summary.json?op=OPEN",                              \
	 JSON("200", "{\"Location\":\"http://@/data?op=X\"}")},                                    \
	{                                                                                          \
		"GET /data", JSON("200", summary)                                                  \
	}

static void what_this_user_has_published_before_stays(void **state)
{
	struct bed bed;

	OPEN(&bed, FINDS("alice"), READS("{\"id\":\"j\"}"), GOES);
	while (bed.ends == 0)
		event_base_loop(bed.base, EVLOOP_ONCE);
	assert_int_equal(bed.err.kind, ERR_NONE);
	close_bed(&bed);
}

/* promise: S45 */
static void another_jobs_entry_at_the_place_is_told(void **state)
{
	/* The owner of the day has given it this job's name. */
	struct bed bed;

	OPEN(&bed, FINDS("alice"), READS("{\"id\":\"other\"}"), GOES);
	while (bed.ends == 0)
		event_base_loop(bed.base, EVLOOP_ONCE);
	assert_int_equal(bed.err.kind, ERR_DENIED);
	assert_message_has(&bed.err, "is not this job's history");
	close_bed(&bed);
}

static void an_entry_without_a_summary_is_not_this_jobs(void **state)
{
	struct bed bed;

	OPEN(&bed, FINDS("alice"),
	     {"GET /webhdfs/v1/history/2023/11/14/j/summary.json?op=OPEN", NOT_FOUND}, GOES);
	while (bed.ends == 0)
		event_base_loop(bed.base, EVLOOP_ONCE);
	assert_int_equal(bed.err.kind, ERR_DENIED);
	close_bed(&bed);
}

#define NO_KEY                                                                                     \
	"404 X\r\nConnection: close\r\n\r\n<?xml "                                                 \
	"version=\"1.0\"?><Error><Code>NoSuchKey</Code></Error>"
#define EMPTY "X\r\nETag: \"e1\"\r\nConnection: close\r\n\r\n"
#define OPEN_BUCKET(bed, ...)                                                                      \
	const struct web_step steps_[] = {__VA_ARGS__};                                            \
	scratch_write(state, "packed/logs/a", "a", 0600);                                          \
	open_at(bed, state, "s3://bucket/history", steps_, array_length(steps_))

/* Readers take a folder for a history by its summary. */
static void summary_is_the_last_object(void **state)
{
	struct bed bed;

	OPEN_BUCKET(&bed, {"GET /bucket/history/2023/11/14/j/summary.json", NO_KEY},
		    {"PUT /bucket/history/2023/11/14/j/logs/a", "200 " EMPTY},
		    {"PUT /bucket/history/2023/11/14/j/summary.json", "200 " EMPTY});
	close_bed(&bed);
}

static void object_that_fails_leaves_no_summary(void **state)
{
	struct bed bed;

	OPEN_BUCKET(&bed, {"GET /bucket/history/2023/11/14/j/summary.json", NO_KEY},
		    {"PUT /bucket/history/2023/11/14/j/logs/a", "403 " EMPTY});
	while (bed.ends == 0)
		event_base_loop(bed.base, EVLOOP_ONCE);
	assert_int_equal(bed.err.kind, ERR_DENIED);
	close_bed(&bed);
}

static void history_that_is_in_the_bucket_stays(void **state)
{
	struct bed bed;

	OPEN_BUCKET(&bed, {"GET /bucket/history/2023/11/14/j/summary.json",
			   "200 " EMPTY "{\"id\":\"j\"}"});
	close_bed(&bed);
}

static void another_jobs_history_in_the_bucket_is_told(void **state)
{
	struct bed bed;

	OPEN_BUCKET(&bed, {"GET /bucket/history/2023/11/14/j/summary.json",
			   "200 " EMPTY "{\"id\":\"k\"}"});
	while (bed.ends == 0)
		event_base_loop(bed.base, EVLOOP_ONCE);
	assert_message_has(&bed.err, "is not this job's history");
	close_bed(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(what_is_held_appears_when_the_end_is_accepted),
		scratch_test(nothing_is_left_of_it_when_the_end_is_refused),
		scratch_test(what_was_decided_before_is_not_held),
		scratch_test(another_users_entry_at_the_place_is_told),
		scratch_test(what_this_user_has_published_before_stays),
		scratch_test(another_jobs_entry_at_the_place_is_told),
		scratch_test(an_entry_without_a_summary_is_not_this_jobs),
		scratch_test(summary_is_the_last_object),
		scratch_test(object_that_fails_leaves_no_summary),
		scratch_test(history_that_is_in_the_bucket_stays),
		scratch_test(another_jobs_history_in_the_bucket_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
