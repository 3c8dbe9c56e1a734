/* Descriptions and journals of an older tony, in format_1/ as commit ff33f7e wrote them: its
 * job.json had one member "cluster" in place of "engine" and "stores". */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../base/test.h"
#include "base/json.h"
#include "base/mem.h"
#include "hadoop/cluster.h"
#include "job/job.h"
#include "job/view.h"
#include "store/access.h"

static struct job *read_golden(const char *name)
{
	struct err err cleanup_err = {0};
	char *path cleanup_free = mem_printf("%s/%s", GOLDEN_DIR, name);
	struct job *job = job_read_file(path, &err);

	if (!job)
		fail_msg("%s", err_message(&err));
	return job;
}

/* Written in the form of today it is read again, with nothing lost. */
static void check_rewritten(const struct job *job)
{
	struct err err cleanup_err = {0};
	char *text cleanup_free = job_to_text(job);
	struct job *again = job_from_text(text, strlen(text), &err);

	assert_non_null(again);
	char *text_again cleanup_free = job_to_text(again);
	assert_string_equal(text, text_again);
	assert_non_null(strstr(text, "\"format\":2,"));
	assert_null(strstr(text, "\"cluster\""));
	job_destroy(again);
}

static void check_hdfs(const struct job *job)
{
	struct store_access access cleanup_store_access = {0};
	struct err err cleanup_err = {0};

	assert_success(store_access_from_json(job->stores, &access, &err), &err);
	assert_true(access.has_hdfs);
	assert_string_equal(access.hdfs.user, "root");
	assert_string_equal(access.hdfs.fs, "hdfs://127.0.0.1:27255");
	assert_string_equal(access.hdfs.webhdfs.items[0], "http://127.0.0.1:27256");
	assert_string_equal(access.hdfs.name_nodes.items[0], "127.0.0.1:27255");
	assert_int_equal(access.hdfs.connect_timeout_ms, 20000);
}

static void local_job_has_neither_engine_nor_stores(void **state)
{
	struct job *job = read_golden("local.json");

	assert_string_equal(job->id, "tony-20261124-170402-0c2af4e1");
	assert_null(job->engine);
	assert_null(job->stores);
	check_rewritten(job);
	job_destroy(job);
}

static void local_job_with_history_in_hdfs_has_stores(void **state)
{
	struct job *job = read_golden("local_hdfs.json");

	assert_null(job->engine);
	check_hdfs(job);
	check_rewritten(job);
	job_destroy(job);
}

static void yarn_job_has_engine_and_stores(void **state)
{
	struct err err cleanup_err = {0};
	struct job *job = read_golden("yarn.json");
	struct hadoop_cluster *cluster = hadoop_cluster_from_json(job->engine, job->stores, &err);

	if (!cluster)
		fail_msg("%s", err_message(&err));
	assert_string_equal(cluster->user, "root");
	assert_string_equal(cluster->rm.items[0], "127.0.0.1:27260");
	assert_string_equal(cluster->home, "/user/root");
	assert_string_equal(cluster->job_dir, "/user/root/.tony/application_1795540398419_0001");
	assert_string_equal(cluster->history_dir, "/user/root/.tony/history");
	assert_string_equal(cluster->hdfs.fs, "hdfs://127.0.0.1:27255");
	assert_int_equal(cluster->file_count, 1);
	assert_int_equal(cluster->type_count, 1);
	assert_null(json_object_get(job->engine, "webhdfs"));
	check_hdfs(job);
	check_rewritten(job);
	hadoop_cluster_destroy(cluster);
	job_destroy(job);
}

static void check_journal(const char *job_name, const char *journal, enum job_state ended)
{
	struct err err cleanup_err = {0};
	struct job *job = read_golden(job_name);
	char *path cleanup_free = mem_printf("%s/%s", GOLDEN_DIR, journal);
	struct job_view *view = job_view_create(job);

	assert_success(job_view_read(view, path, &err), &err);
	assert_true(view->is_final);
	assert_int_equal(view->state, ended);
	assert_int_equal(view->task_count, 2);
	assert_int_equal(view->tasks[1].attempt, 1);
	assert_non_null(view->tasks[1].container);
	job_view_destroy(view);
	job_destroy(job);
}

static void journals_are_read(void **state)
{
	check_journal("local.json", "local.jsonl", JOB_SUCCEEDED);
	check_journal("yarn.json", "yarn.jsonl", JOB_KILLED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(local_job_has_neither_engine_nor_stores),
		cmocka_unit_test(local_job_with_history_in_hdfs_has_stores),
		cmocka_unit_test(yarn_job_has_engine_and_stores),
		cmocka_unit_test(journals_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
