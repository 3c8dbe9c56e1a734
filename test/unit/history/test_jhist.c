#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <unistd.h>

#include "../base/scratch.h"
#include "avro_maker.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "history/jhist.h"
#include "history/store.h"
#include "job/view.h"

#define ID	   "application_1541469337545_0031"
#define DIRECTORY  "store/finished/2018/11/15/" ID
#define STORE_PATH "finished/2018/11/15/" ID
#define T0	   1542325695566

static const char config[] =
	"<?xml version=\"1.0\"?><configuration>"
	"<property><name>tony.application.name</name><value>mnist</value></property>"
	"<property><name>tony.worker.instances</name><value>2</value></property>"
	"<property><name>tony.worker.memory</name><value>4g</value></property>"
	"<property><name>tony.ps.instances</name><value>1</value></property>"
	"<property><name>tony.yarn.queue</name><value>ml</value></property>"
	"<property><name>fs.s3a.secret.key</name><value>hush</value></property>"
	"</configuration>";

static void a_files_name_says_who_and_when(void **state)
{
	static const struct {
		const char *file, *user;
		enum job_state state;
		int64_t completed;
	} good[] = {
		{ID "-5-7-user1-SUCCEEDED.jhist", "user1", JOB_SUCCEEDED, 7},
		{ID "-5-7-user1-FAILED.jhist", "user1", JOB_FAILED, 7},
		{ID "-5-7-user1-KILLED.jhist", "user1", JOB_KILLED, 7},
		{ID "-5-7-first-last-FAILED.jhist", "first-last", JOB_FAILED, 7},
		{ID "-5-user1.jhist.inprogress", "user1", JOB_RUNNING, 0},
		{ID "-5-first-last.jhist.inprogress", "first-last", JOB_RUNNING, 0},
	};
	static const char *const bad[] = {
		"",
		".jhist",
		"x.jhist",
		ID ".jhist",
		ID "-5.jhist",
		ID "-5-7.jhist",
		ID "-x-7-user-FAILED.jhist",
		ID "-5-7--FAILED.jhist",
		ID "-5-7-u-FAILED.jhist.crc",
		"../x-5-7-u-FAILED.jhist",
		"-5-7-u-FAILED.jhist",
		ID "-99999999999999999999-7-u-FAILED.jhist",
	};
	struct jhist_name read;

	for (size_t i = 0; i < array_length(good); i++) {
		assert_true(jhist_name_parse(good[i].file, &read));
		assert_string_equal(read.id, ID);
		assert_string_equal(read.user, good[i].user);
		assert_int_equal(read.started_ms, 5);
		assert_int_equal(read.completed_ms, good[i].completed);
		assert_int_equal(read.state, good[i].state);
		jhist_name_finish(&read);
	}
	for (size_t i = 0; i < array_length(bad); i++)
		assert_false(jhist_name_parse(bad[i], &read));
}

/* ---- a job -------------------------------------------------------------------------------- */

/* Two formations of a cluster, of which the second fails, too. */
static void put_events(struct str *file)
{
	const struct finished_task first = {
		"worker", 1, "FAILED", "Container exited\nExit code: 3\n", 1e9, -1};
	const struct finished_task ps = {"ps", 0, "FINISHED", NULL, 5e8, -1};
	const struct finished_task worker = {"worker", 0, "SUCCEEDED", "NA", 2e9, 80};
	struct str records cleanup_str = {0};

	put_inited(&records, T0 + 100, ID, 3);
	put_started(&records, T0 + 200, "ps", 0, "node1");
	put_started(&records, T0 + 200, "worker", 0, "node2");
	put_started(&records, T0 + 300, "worker", 1, "node3");
	put_task_finished(&records, T0 + 1000, &first);
	put_inited(&records, T0 + 2000, ID, 3);
	put_started(&records, T0 + 2100, "worker", 1, "node4");
	put_task_finished(&records, T0 + 3000, &worker);
	put_task_finished(&records, T0 + 3100, &first);
	put_task_finished(&records, T0 + 3200, &ps);
	put_finished(&records, T0 + 3300, ID, 2, 1);
	put_file(file, tony_schema, true, 11, &records);
}

static void write_bytes(void **state, const char *path, const struct str *bytes, size_t length)
{
	scratch_write(state, path, "", 0600);
	assert_int_equal(fs_write_file(scratch_path(state, path), bytes->text, length, 0600, NULL),
			 0);
}

static struct history_store *open_store(void **state)
{
	return history_store_open(scratch_path(state, "store"), NULL, NULL);
}

static void make_job(void **state, const char *file_name)
{
	struct str file cleanup_str = {0};
	char *path cleanup_free = mem_printf(DIRECTORY "/%s", file_name);

	put_events(&file);
	write_bytes(state, path, &file, file.length);
	scratch_write(state, DIRECTORY "/tony-final.xml", config, 0600);
}

static void a_job_of_tonys_has_a_summary(void **state)
{
	struct history_summary summary cleanup_history_summary = {0};
	struct history_store *store = open_store(state);
	struct err err cleanup_err = {0};

	make_job(state, ID "-1542325695566-1542325699566-user1-FAILED.jhist");
	history_store_summary(store, STORE_PATH, &summary, &err);
	assert_string_equal(err_message(&err), "no error");
	assert_string_equal(summary.id, ID);
	assert_string_equal(summary.name, "mnist");
	assert_string_equal(summary.user, "user1");
	assert_string_equal(summary.queue, "ml");
	assert_string_equal(summary.framework, "tensorflow");
	assert_int_equal(summary.state, JOB_FAILED);
	assert_int_equal(summary.submitted_ms, T0);
	assert_int_equal(summary.running_ms, T0 + 200);
	assert_int_equal(summary.ended_ms, 1542325699566);
	assert_int_equal(summary.epoch, 2);
	assert_int_equal(summary.task_count, 3);
	assert_string_equal(summary.message, "worker:1 on node4 exited with code 3");
	assert_string_equal(summary.cause_task, "worker:1");
	assert_int_equal(summary.cause.exit_code, 3);
	assert_string_equal(summary.cause.headline, "Container exited");
	assert_int_equal(summary.type_count, 2);
	assert_string_equal(summary.types[0].name, "worker");
	assert_int_equal(summary.types[0].instances, 2);
	assert_int_equal(summary.types[0].memory, 4096);
	assert_int_equal(summary.types[0].max_rss_bytes, 2000000000);
	assert_int_equal(summary.types[0].average_gpu_percent, 80);
	assert_int_equal(summary.types[1].max_rss_bytes, 500000000);
	/* 2800 of worker:0, 700 and 1000 of worker:1. */
	assert_int_equal(summary.types[0].container_ms, 4500);
	history_store_close(store);
}

static void its_files_are_made_as_tonys_own(void **state)
{
	struct history_store *store = open_store(state);
	struct history_record record cleanup_history_record = {0};
	size_t length;

	make_job(state, ID "-1542325695566-1542325699566-user1-FAILED.jhist");
	assert_int_equal(history_store_record(store, STORE_PATH, NULL, &record, NULL), 0);
	char *description cleanup_free =
		history_store_read_file(store, &record, HISTORY_JOB, JOB_JSON_CAP, &length, NULL);
	struct job *job = job_from_text(description, length, NULL);
	assert_non_null(job);
	int fd cleanup_close =
		history_store_open_file(store, &record, HISTORY_EVENTS, HISTORY_FILE_CAP, NULL);
	char *path cleanup_free = mem_printf("/proc/self/fd/%d", fd);
	struct job_view *view = job_view_create(job);
	assert_int_equal(job_view_read(view, path, NULL), 0);
	assert_true(view->is_final);
	assert_int_equal(view->tasks[1].attempt, 2);
	assert_string_equal(view->tasks[1].host, "node4");
	assert_int_equal(view->tasks[1].state, TASK_FAILED);
	assert_int_equal(view->tasks[0].state, TASK_SUCCEEDED);
	assert_int_equal(view->tasks[0].started_ms, T0 + 200);
	assert_int_equal(view->tasks[0].ended_ms, T0 + 3000);
	assert_int_equal(view->tasks[2].state, TASK_STOPPED);
	assert_string_equal(view->tasks[2].container, "container_1_0001_01_000002");
	job_view_destroy(view);
	job_destroy(job);
	char *metrics cleanup_free =
		history_store_read_file(store, &record, HISTORY_METRICS, 1 << 20, &length, NULL);
	assert_non_null(strstr(metrics,
			       "{\"task\":\"worker:1\",\"attempt\":2,\"series\":[{\"name\":"
			       "\"rss_bytes\",\"unit\":\"bytes\",\"kind\":\"gauge\","
			       "\"gpu\":null,\"t\":[1542325698666],\"v\":[1000000000.0]}]"));
	char *settings cleanup_free =
		history_store_read_file(store, &record, HISTORY_CONFIG, 1 << 20, &length, NULL);
	assert_non_null(strstr(settings, "<name>tony.worker.memory</name><value>4g</value>"));
	assert_null(strstr(settings, "hush"));
	history_store_close(store);
}

static void of_several_attempts_the_last_counts(void **state)
{
	struct history_summary summary cleanup_history_summary = {0};
	struct history_store *store = open_store(state);

	make_job(state, ID "-1542325690000-user1.jhist.inprogress");
	make_job(state, ID "-1542325695566-1542325699566-user1-SUCCEEDED.jhist");
	assert_int_equal(history_store_summary(store, STORE_PATH, &summary, NULL), 0);
	assert_int_equal(summary.state, JOB_SUCCEEDED);
	assert_int_equal(summary.submitted_ms, 1542325695566);
	history_store_close(store);
}

static void what_has_not_ended_runs(void **state)
{
	struct history_summary summary cleanup_history_summary = {0};
	struct history_store *store = open_store(state);
	struct str records cleanup_str = {0}, file cleanup_str = {0};

	put_inited(&records, T0 + 100, ID, 1);
	put_started(&records, T0 + 200, "worker", 0, "node1");
	put_file(&file, tony_schema, false, 2, &records);
	put_long(&file, 1); /* the next block is being written */
	write_bytes(state, "store/intermediate/" ID "/" ID "-1542325695566-u.jhist.inprogress",
		    &file, file.length);
	assert_int_equal(history_store_summary(store, "intermediate/" ID, &summary, NULL), 0);
	assert_int_equal(summary.state, JOB_RUNNING);
	assert_int_equal(summary.ended_ms, 0);
	assert_int_equal(summary.type_count, 1);
	assert_string_equal(summary.name, "TensorFlowApplication");
	history_store_close(store);
}

static void one_that_says_it_is_over_is(void **state)
{
	struct history_summary summary cleanup_history_summary = {0};
	struct history_store *store = open_store(state);

	make_job(state, ID "-1542325695566-user1.jhist.inprogress");
	assert_int_equal(history_store_summary(store, STORE_PATH, &summary, NULL), 0);
	assert_int_equal(summary.state, JOB_FAILED);
	assert_int_equal(summary.ended_ms, T0 + 3200);
	history_store_close(store);
}

static void nonsense_is_refused_or_passed_over(void **state)
{
	const struct finished_task strange = {"Worker!", -1, "?", NULL, -1, -1};
	const struct finished_task huge = {"worker", 2000000000, "FAILED", NULL, 1e300, 1e300};
	const struct finished_task no_type = {"secret", 0, "FAILED", NULL, 1, 1};
	struct history_summary summary cleanup_history_summary = {0};
	struct history_store *store = open_store(state);
	struct str records cleanup_str = {0}, file cleanup_str = {0};
	struct err err cleanup_err = {0};

	put_task_finished(&records, T0, &strange);
	put_task_finished(&records, T0, &huge);
	put_task_finished(&records, T0, &no_type);
	put_file(&file, tony_schema, false, 3, &records);
	write_bytes(state, DIRECTORY "/" ID "-1-2-u-FAILED.jhist", &file, file.length);
	scratch_write(state, DIRECTORY "/config.xml", "<configuration>", 0600);
	history_store_summary(store, STORE_PATH, &summary, &err);
	assert_string_equal(err_message(&err), "no error");
	assert_int_equal(summary.task_count, 1);
	history_summary_finish(&summary);
	history_store_close(store);
	store = open_store(state);
	scratch_write(state, DIRECTORY "/config.xml",
		      "<configuration><property><name>tony.docker.instances</name><value>2</value>"
		      "</property></configuration>",
		      0600);
	assert_int_equal(history_store_summary(store, STORE_PATH, &summary, NULL), 0);
	assert_int_equal(summary.task_count, 1);
	history_summary_finish(&summary);
	history_store_close(store);
	store = open_store(state);
	write_bytes(state, DIRECTORY "/" ID "-1-2-u-FAILED.jhist", &file, 20);
	assert_int_equal(history_store_summary(store, STORE_PATH, &summary, &err), -1);
	assert_int_equal(err.kind, ERR_INPUT);
	history_store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_files_name_says_who_and_when),
		scratch_test(a_job_of_tonys_has_a_summary),
		scratch_test(its_files_are_made_as_tonys_own),
		scratch_test(of_several_attempts_the_last_counts),
		scratch_test(what_has_not_ended_runs),
		scratch_test(one_that_says_it_is_over_is),
		scratch_test(nonsense_is_refused_or_passed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
