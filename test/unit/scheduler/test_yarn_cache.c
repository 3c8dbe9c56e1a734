/* What of a user's cache in HDFS is kept and what is removed, against a NameNode with a script. */
#include "../base/patience.h"
#include "../base/scratch.h"
#include "../hadoop/web_server.h"
#include "../history/job_bed.h"

#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "job/job.h"
#include "scheduler/scheduler.h"
#include "scheduler/yarn_cache.h"
#include "scheduler/yarn_client.h"

#define DAY_MS INT64_C(86400000)

#define JSON(status, body)                                                                         \
	status " X\r\nConnection: close\r\nContent-Type: application/json\r\n\r\n" body
#define EXCEPTION(status, class, message)                                                          \
	JSON(status,                                                                               \
	     "{\"RemoteException\":{\"exception\":\"" class "\",\"javaClassName\":"                \
							    "\"x." class "\",\"message\":"         \
									 "\"" message "\"}}")
#define MEMBERS(name, type, accessed)                                                              \
	"{\"accessTime\":" accessed ",\"group\":\"g\",\"length\":7,\"modificationTime\":5,"        \
	"\"owner\":\"o\",\"pathSuffix\":\"" name "\",\"permission\":\"600\",\"type\":\"" type      \
	"\"}"
#define STATUS(accessed) JSON("200", "{\"FileStatus\":" MEMBERS("", "FILE", accessed) "}")
#define LIST(...)	 JSON("200", "{\"FileStatuses\":{\"FileStatus\":[" __VA_ARGS__ "]}}")
#define TRUE		 JSON("200", "{\"boolean\":true}")
#define NOTHING		 "200 X\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
#define LOCATION	 JSON("200", "{\"Location\":\"http://@/data?op=X\"}")
#define NOT_FOUND	 EXCEPTION("404", "FileNotFoundException", "File does not exist: /a")
#define LONG_AGO	 "1600000000000"
#define IN_USE		 "9000000000000"

#define CACHE                                                                                      \
	LIST(MEMBERS("gone", "FILE", LONG_AGO) "," MEMBERS("kept", "FILE", LONG_AGO) "," MEMBERS(  \
		"fresh", "FILE", IN_USE) "," MEMBERS("odd", "DIRECTORY", LONG_AGO))
#define JOBS                                                                                       \
	LIST(MEMBERS("application_1_0001", "DIRECTORY", "0") "," MEMBERS("cache", "DIRECTORY", "0"))

struct bed {
	struct web_server server;
	struct hadoop_cluster *cluster;
	struct store *own;
};

static struct hadoop_cluster *make_cluster(const char *url)
{
	struct hadoop_cluster *cluster = mem_alloc(sizeof(*cluster));

	cluster->user = mem_strdup("alice");
	str_list_add(&cluster->rm, "127.0.0.1:1");
	str_list_add(&cluster->rm_scheduler, "127.0.0.1:1");
	str_list_add(&cluster->hdfs.webhdfs, url);
	cluster->queue = mem_strdup("default");
	cluster->protections = 1;
	cluster->connect_timeout_ms = cluster->call_timeout_ms = PATIENCE_MS;
	cluster->retry_interval_ms = 10;
	cluster->hdfs.user = mem_strdup("alice");
	cluster->hdfs.fs = mem_strdup("hdfs://nn:8020");
	cluster->home = mem_strdup("/user/alice");
	cluster->job_dir = mem_strdup("/user/alice/.tony/application_1_0001");
	cluster->history_dir = mem_strdup("/user/alice/.tony/history/application_1_0001");
	return cluster;
}

static void open_bed(struct bed *bed, const struct web_step *steps, size_t count)
{
	*bed = (struct bed){0};
	web_server_start(&bed->server, steps, count);
	bed->cluster = make_cluster(bed->server.url);
	bed->own = yarn_store_own(bed->cluster, NULL);
	assert_non_null(bed->own);
}

/* Every step of the script was taken. */
static void close_bed(struct bed *bed)
{
	web_server_stop(&bed->server);
	web_server_finish(&bed->server);
	store_close(bed->own);
	hadoop_cluster_destroy(bed->cluster);
}

/* Of a job that has `file` of the cache. */
static char *describe_job(const char *file)
{
	struct hadoop_cluster *cluster = make_cluster("http://127.0.0.1:1");
	cluster->files = mem_alloc(sizeof(*cluster->files));
	cluster->file_count = 1;
	cluster->files[0].url = mem_printf("hdfs://nn:8020/user/alice/.tony/cache/%s", file);
	struct job *job = bed_job();
	yarn_cluster_note(cluster, job);
	hadoop_cluster_destroy(cluster);
	char *text = job_to_text(job);
	job_destroy(job);
	return text;
}

/* The bytes of what was removed; -1: it failed. */
static int64_t age_cache(const struct bed *bed, bool is_dry)
{
	struct removal removal cleanup_removal = {.is_dry = is_dry};
	struct err err cleanup_err = {0};

	if (yarn_cache_age(bed->own, 30 * DAY_MS, 0, &removal, &err) < 0)
		return -1;
	return removal.bytes;
}

static void what_no_job_has_used_for_long_is_removed(void **state)
{
	char *job cleanup_free = describe_job("kept");
	char *content cleanup_free = mem_printf("200 X\r\nConnection: close\r\n\r\n%s", job);
	const struct web_step steps[] = {
		{"/.tony/cache?op=LISTSTATUS", CACHE},
		{"/.tony?op=LISTSTATUS", JOBS},
		{"/application_1_0001/job.json?op=OPEN", LOCATION},
		{"/data", content},
		{"/cache/gone?op=RENAME", NOTHING},
		{"/cache/.gone.", STATUS(LONG_AGO)},
		{"/cache/.gone.", TRUE},
	};
	struct bed bed;

	open_bed(&bed, steps, array_length(steps));
	assert_int_equal(age_cache(&bed, false), 7);
	close_bed(&bed);
}

static void a_dry_run_tells_the_bytes_and_removes_nothing(void **state)
{
	static const struct web_step steps[] = {
		{"/.tony/cache?op=LISTSTATUS", LIST(MEMBERS("gone", "FILE", LONG_AGO))},
		{"/.tony?op=LISTSTATUS", LIST()},
		{"/cache/gone?op=GETFILESTATUS", STATUS(LONG_AGO)},
	};
	struct bed bed;

	open_bed(&bed, steps, array_length(steps));
	assert_int_equal(age_cache(&bed, true), 7);
	close_bed(&bed);
}

static void a_cache_that_is_not_there_is_no_failure(void **state)
{
	static const struct web_step steps[] = {{"/.tony/cache?op=LISTSTATUS", NOT_FOUND}};
	struct bed bed;

	open_bed(&bed, steps, array_length(steps));
	assert_int_equal(age_cache(&bed, false), 0);
	close_bed(&bed);
}

static void what_is_used_at_the_last_moment_stays(void **state)
{
	static const struct web_step steps[] = {
		{"/.tony/cache?op=LISTSTATUS", LIST(MEMBERS("gone", "FILE", LONG_AGO))},
		{"/.tony?op=LISTSTATUS", LIST()},
		{"/cache/gone?op=RENAME", NOTHING},
		{"/cache/.gone.", STATUS(IN_USE)},
		{"destination=%2Fuser%2Falice%2F.tony%2Fcache%2Fgone", NOTHING},
	};
	struct bed bed;

	open_bed(&bed, steps, array_length(steps));
	assert_int_equal(age_cache(&bed, false), 0);
	close_bed(&bed);
}

static void nothing_is_removed_when_a_job_cannot_be_read(void **state)
{
	static const struct web_step steps[] = {
		{"/.tony/cache?op=LISTSTATUS", CACHE},
		{"/.tony?op=LISTSTATUS", JOBS},
		{"/application_1_0001/job.json?op=OPEN",
		 EXCEPTION("403", "AccessControlException", "Permission denied")},
	};
	struct bed bed;

	open_bed(&bed, steps, array_length(steps));
	assert_int_equal(age_cache(&bed, false), -1);
	close_bed(&bed);
}

static void a_use_is_noted(void **state)
{
	static const struct web_step steps[] = {
		{"/c/a?op=GETFILESTATUS", STATUS(IN_USE)},
		{"/c/b?op=GETFILESTATUS", STATUS(LONG_AGO)},
		{"op=SETTIMES&user.name=alice&modificationtime=-1&accesstime=1", NOTHING},
		{"/c/c?op=GETFILESTATUS", STATUS(LONG_AGO)},
		{"/c/c?op=SETTIMES",
		 EXCEPTION("403", "IOException", "Access time for hdfs is not configured.")},
		{"/c/d?op=GETFILESTATUS", STATUS(LONG_AGO)},
		{"/c/d?op=SETTIMES", NOT_FOUND},
	};
	static const char *const there[] = {"c/a", "c/b", "c/c"};
	struct err err cleanup_err = {0};
	struct store_item file;
	struct bed bed;

	open_bed(&bed, steps, array_length(steps));
	for (size_t i = 0; i < array_length(there); i++) {
		assert_success(yarn_cache_use(bed.own, there[i], &file, &err), &err);
		assert_int_equal(file.modified_ms, 5);
		store_item_finish(&file);
	}
	assert_int_equal(yarn_cache_use(bed.own, "c/d", &file, &err), -1);
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	close_bed(&bed);
}

/* The agent is sent, then `second` answers the creation of the next file. */
#define SENDS_ONE_THEN(second)                                                                     \
	{"/cache/", NOT_FOUND}, {"/cache?op=MKDIRS", TRUE}, {".part?op=CREATE", LOCATION},         \
		{"/data", "201 X\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"},              \
		{".part?op=RENAME", NOTHING}, {"op=GETFILESTATUS", STATUS(IN_USE)},                \
		{"op=GETFILESTATUS", NOT_FOUND}, {"/cache?op=MKDIRS", TRUE},                       \
		{".part?op=CREATE", second},                                                       \
	{                                                                                          \
		".part?op=DELETE", TRUE                                                            \
	}

static void expect_failed_stage(void **state, const struct web_step *steps, size_t count,
				enum err_kind kind)
{
	char *bin cleanup_free = mem_strdup(scratch_path(state, "bin"));
	char *model cleanup_free = mem_strdup(scratch_path(state, "model"));
	char *path cleanup_free = mem_strdup(getenv("PATH"));
	const struct scheduler_file file = {.source = model, .name = "model"};
	const struct scheduler_staging staging = {.files = &file, .count = 1};
	struct err err cleanup_err = {0};
	struct job job = {.id = (char *)"application_1_0001"};
	struct bed bed;

	scratch_write(state, "bin/tony-agent", "agent", 0700);
	scratch_write(state, "model", "model", 0600);
	open_bed(&bed, steps, count);
	yarn_cluster_note(bed.cluster, &job);
	setenv("PATH", bin, true);
	assert_int_equal(yarn_stage(&job, &staging, &err), -1);
	setenv("PATH", path, true);
	assert_int_equal(err.kind, kind);
	json_decref(job.engine);
	json_decref(job.stores);
	free(job.checkpoint_dir);
	free(job.output_dir);
	close_bed(&bed);
}

/* Another submission may rely on it already. */
static void a_complete_file_stays_when_another_cannot_be_sent(void **state)
{
	static const struct web_step full[] = {SENDS_ONE_THEN(
		EXCEPTION("403", "DSQuotaExceededException", "The quota is exceeded"))};
	static const struct web_step denied[] = {
		SENDS_ONE_THEN(EXCEPTION("403", "AccessControlException", "Permission denied"))};

	expect_failed_stage(state, full, array_length(full), ERR_STORE_FULL);
	expect_failed_stage(state, denied, array_length(denied), ERR_DENIED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_no_job_has_used_for_long_is_removed),
		cmocka_unit_test(a_dry_run_tells_the_bytes_and_removes_nothing),
		cmocka_unit_test(a_cache_that_is_not_there_is_no_failure),
		cmocka_unit_test(what_is_used_at_the_last_moment_stays),
		cmocka_unit_test(nothing_is_removed_when_a_job_cannot_be_read),
		cmocka_unit_test(a_use_is_noted),
		scratch_test(a_complete_file_stays_when_another_cannot_be_sent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
