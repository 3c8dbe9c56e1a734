#include "../base/test.h"

#include "base/mem.h"
#include "fixture.h"
#include "framework/environment.h"

static void expect_refusal(struct job *job, const char *part)
{
	struct err err cleanup_err = {0};

	assert_int_equal(framework_find("mxnet")->check(job, &err), -1);
	assert_int_equal(err.kind, ERR_CONFIG);
	assert_message_has(&err, part);
	job_destroy(job);
}

static void what_works_is_taken(void **state)
{
	static const char *const shapes[] = {"mxnet", "mxnet_dense", "mxnet_names"};

	for (size_t i = 0; i < array_length(shapes); i++) {
		struct err err cleanup_err = {0};
		struct job *job = fixture_job("mxnet", shapes[i]);
		assert_success(framework_find("mxnet")->check(job, &err), &err);
		job_destroy(job);
	}
}

static void a_single_program_needs_no_peers(void **state)
{
	struct err err cleanup_err = {0};
	struct job *job = fixture_job("mxnet", "single");

	json_object_clear(job->config);
	assert_success(framework_find("mxnet")->check(job, &err), &err);
	job_destroy(job);
}

static void every_role_is_there_and_one_scheduler(void **state)
{
	struct job *job = fixture_job("mxnet", "workers");

	expect_refusal(job, "tony.scheduler.instances: \"0\"");
	job = fixture_job("mxnet", "mxnet");
	job->types[1].processes = 2;
	expect_refusal(job, "tony.scheduler.instances: \"2\"");
	job = fixture_job("mxnet", "mxnet");
	job->types[2].instances = 0;
	expect_refusal(job, "tony.server.instances: \"0\"");
	job = fixture_job("mxnet", "mxnet");
	job->types[0].instances = 0;
	expect_refusal(job, "tony.worker.instances: \"0\"");
}

static void the_schedulers_address_is_known_at_the_start(void **state)
{
	struct job *job = fixture_job("mxnet", "mxnet");

	job->mode = JOB_MODE_FCFS;
	expect_refusal(job, "use GANG");
}

static void every_role_runs_the_workers_program(void **state)
{
	struct str_list types cleanup_str_list = {0}, pairs cleanup_str_list = {0};
	struct framework_shape shape = {.types = &types, .worker_command = "python3 train.py"};

	str_list_add(&types, "worker");
	framework_find("mxnet")->defaults(&shape, &pairs);
	assert_true(str_list_has(&pairs, "tony.application.untracked.jobtypes=scheduler,server"));
	assert_true(str_list_has(&pairs, "tony.scheduler.instances=1"));
	assert_true(str_list_has(&pairs, "tony.server.instances=1"));
	assert_true(str_list_has(&pairs, "tony.scheduler.command=python3 train.py"));
	assert_true(str_list_has(&pairs, "tony.server.command=python3 train.py"));
}

static void ipv6_is_refused(void **state)
{
	struct err err cleanup_err = {0};
	struct environment environment cleanup_environment = {0};
	struct job *job = fixture_job("mxnet", "mxnet");
	struct cluster *cluster = fixture_cluster(job, "mxnet");
	struct framework_task task;

	mem_replace(&cluster->types[0].addresses[1].host, mem_strdup("fe80::1"));
	fixture_task(job, cluster, "worker", 1, &task);
	assert_int_equal(framework_environment(&task, &environment, &err), -1);
	assert_message_has(&err, "IPv4 only, and the address is fe80::1");
	cluster_destroy(cluster);
	job_destroy(job);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_works_is_taken),
		cmocka_unit_test(a_single_program_needs_no_peers),
		cmocka_unit_test(every_role_is_there_and_one_scheduler),
		cmocka_unit_test(the_schedulers_address_is_known_at_the_start),
		cmocka_unit_test(every_role_runs_the_workers_program),
		cmocka_unit_test(ipv6_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
