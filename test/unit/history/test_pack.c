#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <unistd.h>

#include "../base/scratch.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "history/layout.h"
#include "history/pack.h"
#include "job_bed.h"

/* Logs are at "<task>-<attempt>/<name>". */
static char *log_path(void *data, size_t task, int attempt, const char *name)
{
	char *file cleanup_free = mem_printf("%zu-%d/%s", task, attempt, name);

	return mem_strdup(scratch_path(data, file));
}

static void measure(void *data, struct history_summary *summary)
{
	summary->types[0].max_rss_bytes = 4711;
}

static int write_metrics(void *data, int fd, struct err *err)
{
	static const char text[] = "{\"task\":\"worker:0\"}\n";

	return fs_write_all(fd, text, strlen(text), err);
}

static int pack_job(void **state, struct job *job, struct err *err)
{
	const struct history_pack pack = {.job = job,
					  .journal = scratch_path(state, "journal.jsonl"),
					  .write_metrics = write_metrics,
					  .measure = measure,
					  .log_path = log_path,
					  .data = state};
	return history_pack(&pack, scratch_path(state, "packed"), err);
}

static int pack(void **state, struct err *err)
{
	struct job *job = bed_job();
	int result = pack_job(state, job, err);

	job_destroy(job);
	return result;
}

static void pack_ended(void **state)
{
	struct err err cleanup_err = {0};
	struct job *job = bed_job();

	bed_journal(state, job, true);
	job_destroy(job);
	pack(state, &err);
	assert_string_equal(err_message(&err), "no error");
}

static void everything_that_is_known_is_kept(void **state)
{
	struct history_summary summary cleanup_history_summary = {0};

	pack_ended(state);
	char *journal cleanup_free = scratch_read(state, "journal.jsonl");
	char *events cleanup_free = scratch_read(state, "packed/events.jsonl");
	char *metrics cleanup_free = scratch_read(state, "packed/metrics.jsonl");
	char *text cleanup_free = scratch_read(state, "packed/summary.json");
	struct job *job = job_read_file(scratch_path(state, "packed/job.json"), NULL);
	assert_string_equal(events, journal);
	assert_string_equal(metrics, "{\"task\":\"worker:0\"}\n");
	assert_string_equal(job->id, BED_ID);
	job_destroy(job);
	assert_int_equal(history_summary_from_text(text, strlen(text), &summary, NULL), 0);
	assert_string_equal(summary.user, "alice");
	assert_string_equal(summary.scheduler, "local");
	assert_string_equal(summary.tags.items[0], "nightly");
	assert_int_equal(summary.state, JOB_FAILED);
	assert_int_equal(summary.begun_ms, 1795241641000);
	assert_int_equal(summary.ended_ms, 1795241644000);
	assert_int_equal(summary.task_count, 2);
	assert_non_null(strstr(text, "\"tasks\":2")); /* older programs read it */
	assert_int_equal(summary.types[0].memory, 2048);
	assert_int_equal(summary.types[0].max_rss_bytes, 4711);
	assert_true(summary.bytes > (int64_t)strlen(events));
}

static void the_configuration_is_as_hadoop_reads_it(void **state)
{
	pack_ended(state);
	char *text cleanup_free = scratch_read(state, "packed/tony-final.xml");
	assert_non_null(strstr(text, "<property><name>tony.application.name</name>"
				     "<value>&lt;mnist&gt; &amp; co</value>"
				     "<source>tony.xml:3</source></property>"));
}

static char *pack_for(void **state, const char *permissions)
{
	struct err err cleanup_err = {0};
	struct job *job = bed_job();

	json_object_set_new(job->config, "tony.history.permissions",
			    json_pack("{s:s}", "value", permissions));
	job->engine = json_pack("{s:[{s:[s]}]}", "types", "environment", "FROM=YARN=hidden");
	str_list_add(&job->types[0].environment, "API_KEY=TOPKEY123");
	str_list_add(&job->types[0].environment, "COLOUR=hidden=too");
	bed_journal(state, job, true);
	pack_job(state, job, &err);
	assert_string_equal(err_message(&err), "no error");
	assert_int_equal(unlink(scratch_path(state, "journal.jsonl")), 0);
	job_destroy(job);
	return scratch_read(state, "packed/job.json");
}

/* promise: S27 */
static void others_read_no_value_of_an_environment(void **state)
{
	static const char *const permissions[] = {"group", "all"};

	for (size_t i = 0; i < array_length(permissions); i++) {
		char *text cleanup_free = pack_for(state, permissions[i]);
		assert_non_null(strstr(text, "\"API_KEY=***\""));
		assert_non_null(strstr(text, "\"COLOUR=***\""));
		assert_non_null(strstr(text, "\"FROM=***\""));
		assert_null(strstr(text, "TOPKEY123"));
		assert_null(strstr(text, "hidden"));
	}
	char *text cleanup_free = pack_for(state, "owner");
	assert_non_null(strstr(text, "\"API_KEY=TOPKEY123\""));
}

/* promise: S62 */
static void no_key_to_a_bucket_is_kept(void **state)
{
	static const char *const files[] = {"job.json", "tony-final.xml", "summary.json"};
	struct job *job = bed_job();

	job->stores =
		json_pack("{s:{s:s, s:s, s:s}, s:{s:s}}", "s3", "key_id", "TOPKEY1", "secret_key",
			  "TOPKEY2", "session_token", "TOPKEY3", "hdfs", "fs", "hdfs://nn");
	bed_journal(state, job, true);
	assert_int_equal(pack_job(state, job, NULL), 0);
	for (size_t i = 0; i < array_length(files); i++) {
		char *path cleanup_free = mem_printf("packed/%s", files[i]);
		char *text cleanup_free = scratch_read(state, path);
		assert_null(strstr(text, "TOPKEY"));
	}
	json_t *bundled cleanup_json = history_description(job, true);
	json_t *stores = json_object_get(bundled, "stores");
	assert_true(!json_object_get(stores, "s3") && json_object_get(stores, "hdfs"));
	assert_non_null(json_object_get(job->stores, "s3"));
	job_destroy(job);
}

/* promise: S80 */
static void no_value_of_a_secret_is_kept(void **state)
{
	struct job *job = bed_job();

	job_secrets_add(&job->secrets,
			(struct job_secret){mem_strdup("HUB"), false, mem_strdup("TOPKEY1"), 7});
	bed_journal(state, job, true);
	assert_int_equal(pack_job(state, job, NULL), 0);
	char *text cleanup_free = scratch_read(state, "packed/job.json");
	assert_non_null(strstr(text, "{\"name\":\"HUB\",\"kind\":\"variable\"}"));
	assert_null(strstr(text, "VE9QS0VZMQ")); /* in base64 */
	json_t *bundled cleanup_json = history_description(job, true);
	char *shown cleanup_free = json_text(bundled);
	assert_null(strstr(shown, "VE9QS0VZMQ"));
	job_destroy(job);
}

static void a_job_that_goes_on_has_no_history(void **state)
{
	struct err err cleanup_err = {0};
	struct job *job = bed_job();

	bed_journal(state, job, false);
	job_destroy(job);
	assert_int_equal(pack(state, &err), -1);
	assert_string_equal(err_message(&err), BED_ID " has not ended");
	assert_false(fs_exists(scratch_path(state, "packed")));
}

/* ---- logs --------------------------------------------------------------------------------- */

/* What is kept of a log, behind its head. */
static char *kept(void **state, const char *name, struct history_log_head *head)
{
	char *text cleanup_free = scratch_read(state, name);
	size_t length = history_log_head_read(text, strlen(text), head);

	assert_true(length > 0);
	return mem_strdup(text + length);
}

static char *fill(size_t length, char first, char rest)
{
	char *text = mem_alloc(length + 1);

	memset(text, rest, length);
	text[0] = first;
	return text;
}

static void the_logs_of_the_last_attempt_are_kept(void **state)
{
	struct history_log_head head;

	scratch_write(state, "0-0/stdout", "fine\n", 0600);
	scratch_write(state, "1-1/stderr", "first try\n", 0600);
	scratch_write(state, "1-2/stderr", "second try\n", 0600);
	scratch_write(state, "1-2/executor.log", "its executor\n", 0600);
	scratch_write(state, "1-2/stdout", "", 0600);
	scratch_write(state, "0-0/executor.log", "of one that did not fail\n", 0600);
	pack_ended(state);
	char *text cleanup_free = kept(state, "packed/logs/worker-1/stderr", &head);
	assert_string_equal(text, "second try\n");
	assert_string_equal(head.task, "worker:1");
	assert_string_equal(head.log, "stderr");
	assert_int_equal(head.attempt, 2);
	assert_int_equal(head.bytes, 11);
	assert_int_equal(head.from, 0);
	history_log_head_finish(&head);
	char *executor cleanup_free = kept(state, "packed/logs/worker-1/executor", &head);
	assert_string_equal(executor, "its executor\n");
	history_log_head_finish(&head);
	assert_true(fs_exists(scratch_path(state, "packed/logs/worker-0/stdout")));
	assert_false(fs_exists(scratch_path(state, "packed/logs/worker-0/executor")));
	assert_false(fs_exists(scratch_path(state, "packed/logs/worker-1/stdout")));
}

static void of_a_long_log_the_end_is_kept(void **state)
{
	char *long_text cleanup_free = fill(HISTORY_LOG_CAP + 100, 'a', 'b');
	struct history_log_head head;

	scratch_write(state, "1-2/stderr", long_text, 0600);
	pack_ended(state);
	char *text cleanup_free = kept(state, "packed/logs/worker-1/stderr", &head);
	assert_int_equal(strlen(text), HISTORY_LOG_CAP);
	assert_int_equal(head.bytes, HISTORY_LOG_CAP + 100);
	assert_int_equal(head.from, 100);
	history_log_head_finish(&head);
}

static void a_log_goes_back_into_rotated_files(void **state)
{
	char *older cleanup_free = fill(HISTORY_LOG_CAP, 'a', 'b');
	struct history_log_head head;

	scratch_write(state, "1-2/stderr.1", older, 0600);
	scratch_write(state, "1-2/stderr.1.times", "1000 0\n2000 50\n3000 60\n", 0600);
	scratch_write(state, "1-2/stderr", "the end\n", 0600);
	scratch_write(state, "1-2/stderr.times", "4000 0\n", 0600);
	scratch_write(state, "1-2/stderr.4", "of nobody's\n", 0600);
	pack_ended(state);
	char *text cleanup_free = kept(state, "packed/logs/worker-1/stderr", &head);
	assert_int_equal(strlen(text), HISTORY_LOG_CAP);
	assert_string_equal(text + HISTORY_LOG_CAP - 8, "the end\n");
	assert_int_equal(text[0], 'b');
	assert_int_equal(head.from, 8);
	history_log_head_finish(&head);
	char *times cleanup_free = scratch_read(state, "packed/logs/worker-1/stderr.times");
	char *expected cleanup_free =
		mem_printf("1000 0\n2000 42\n3000 52\n4000 %d\n", HISTORY_LOG_CAP - 8);
	assert_string_equal(times, expected);
}

static void what_is_no_file_is_passed_over(void **state)
{
	scratch_write(state, "secret", "secret", 0600);
	scratch_write(state, "1-2/x", "", 0600);
	assert_int_equal(symlink(scratch_path(state, "secret"), scratch_path(state, "1-2/stderr")),
			 0);
	pack_ended(state);
	assert_false(fs_exists(scratch_path(state, "packed/logs")));
}

static void a_head_is_read_as_if_an_enemy_wrote_it(void **state)
{
	static const char *const heads[] = {
		"",
		"{}",
		"{}\n",
		"no head\n",
		"{\"task\":\"a:0\",\"attempt\":1,\"log\":\"stdout\",\"bytes\":5,\"from\":6}\n",
		"{\"task\":\"a:0\",\"attempt\":-1,\"log\":\"stdout\",\"bytes\":5,\"from\":0}\n",
		"{\"task\":\"a:0\",\"attempt\":1,\"log\":7,\"bytes\":5,\"from\":0}\n",
	};
	struct history_log_head head;

	for (size_t i = 0; i < array_length(heads); i++) {
		assert_int_equal(history_log_head_read(heads[i], strlen(heads[i]), &head), 0);
		assert_null(head.task);
	}
}

/* What is left of an AM that was killed. */
static void figures_come_from_the_metrics_where_nobody_knows_them(void **state)
{
	struct history_summary summary cleanup_history_summary = {0};
	struct err err cleanup_err = {0};
	struct job *job = bed_job();

	bed_journal(state, job, true);
	scratch_write(state, "metrics",
		      "{\"task\":\"worker:0\",\"attempt\":1,\"max_rss_bytes\":900,"
		      "\"max_pss_bytes\":800,\"series\":["
		      "{\"name\":\"rss_bytes\",\"t\":[1000,2000,4000],\"v\":[100,200,300]},"
		      "{\"name\":\"cpu_percent\",\"t\":[1000,2000,4000],\"v\":[null,90,180]},"
		      "{\"name\":\"gpu_utilization_percent\",\"gpu\":0,\"t\":[1000],\"v\":[40]},"
		      "{\"name\":\"gpu_utilization_percent\",\"gpu\":1,\"t\":[1000],\"v\":[60]}]}\n"
		      "nonsense\n"
		      "{\"task\":\"stranger:0\",\"max_rss_bytes\":5000}\n"
		      "{\"task\":\"worker:1\",\"series\":["
		      "{\"name\":\"rss_bytes\",\"v\":[50,\"x\",-1]}]}\n",
		      0600);
	const struct history_pack pack = {.job = job,
					  .journal = scratch_path(state, "journal.jsonl"),
					  .metrics = scratch_path(state, "metrics"),
					  .log_path = log_path,
					  .data = state};
	history_pack(&pack, scratch_path(state, "packed"), &err);
	assert_string_equal(err_message(&err), "no error");
	job_destroy(job);
	char *text cleanup_free = scratch_read(state, "packed/summary.json");
	assert_int_equal(history_summary_from_text(text, strlen(text), &summary, NULL), 0);
	assert_int_equal(summary.types[0].max_rss_bytes, 900);
	assert_int_equal(summary.types[0].max_pss_bytes, 800);
	assert_int_equal(summary.types[0].p95_rss_bytes, 300);
	assert_int_equal(summary.types[0].average_cpu_percent, 150);
	assert_int_equal(summary.types[0].average_gpu_percent, 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(everything_that_is_known_is_kept),
		scratch_test(figures_come_from_the_metrics_where_nobody_knows_them),
		scratch_test(the_configuration_is_as_hadoop_reads_it),
		scratch_test(others_read_no_value_of_an_environment),
		scratch_test(no_key_to_a_bucket_is_kept),
		scratch_test(no_value_of_a_secret_is_kept),
		scratch_test(a_job_that_goes_on_has_no_history),
		scratch_test(the_logs_of_the_last_attempt_are_kept),
		scratch_test(of_a_long_log_the_end_is_kept),
		scratch_test(a_log_goes_back_into_rotated_files),
		scratch_test(what_is_no_file_is_passed_over),
		scratch_test(a_head_is_read_as_if_an_enemy_wrote_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
