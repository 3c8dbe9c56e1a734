#include "../base/test.h"

#include <stdio.h>

#include "base/json.h"
#include "base/mem.h"
#include "fixture.h"
#include "framework/address.h"
#include "framework/environment.h"
#include "framework/mpi_host.h"

/* The fixture's, with the command that the defaults give the workers. */
static struct job *mpi_job(const char *shape)
{
	struct job *job = fixture_job("mpi", shape);
	int worker = job_find_type(job, "worker");

	mem_replace(&job->types[worker].command, mem_strdup("exec \"$TONY_AGENT\" host"));
	return job;
}

static struct job_type *type_of(struct job *job, const char *name)
{
	return &job->types[job_find_type(job, name)];
}

static void expect_refusal(struct job *job, const char *part)
{
	struct err err cleanup_err = {0};

	assert_int_equal(framework_find("mpi")->check(job, &err), -1);
	assert_int_equal(err.kind, ERR_CONFIG);
	assert_message_has(&err, part);
	job_destroy(job);
}

static void what_works_is_taken(void **state)
{
	static const char *const shapes[] = {"mpi", "mpi_nodes", "mpi_one"};

	for (size_t i = 0; i < array_length(shapes); i++) {
		struct err err cleanup_err = {0};
		struct job *job = mpi_job(shapes[i]);
		assert_success(framework_find("mpi")->check(job, &err), &err);
		job_destroy(job);
	}
}

static void one_launcher_and_some_workers_are_there(void **state)
{
	struct job *job = mpi_job("mpi");

	type_of(job, "launcher")->instances = 2;
	expect_refusal(job, "tony.launcher.instances: \"2\"");
	job = mpi_job("mpi");
	type_of(job, "launcher")->instances = 0;
	expect_refusal(job, "tony.launcher.instances: \"0\"");
	job = mpi_job("mpi");
	type_of(job, "worker")->instances = 0;
	expect_refusal(job, "tony.worker.instances: \"0\"");
}

static void workers_serve_mpirun_and_nothing_else(void **state)
{
	struct job *job = mpi_job("mpi");

	type_of(job, "worker")->role = JOB_ROLE_TRACKED;
	expect_refusal(job, "add worker");
	job = mpi_job("mpi");
	mem_replace(&type_of(job, "worker")->command, mem_strdup("mpirun train"));
	expect_refusal(job, "tony.worker.command: \"mpirun train\"");
	job = mpi_job("mpi");
	job->mode = JOB_MODE_FCFS;
	expect_refusal(job, "use GANG");
}

static void the_launcher_is_added(void **state)
{
	struct str_list types cleanup_str_list = {0}, pairs cleanup_str_list = {0};
	struct framework_shape shape = {.types = &types, .python = "python3"};

	framework_find("mpi")->defaults(&shape, &pairs);
	assert_int_equal(pairs.count, 0); /* a single program */
	str_list_add(&types, "worker");
	framework_find("mpi")->defaults(&shape, &pairs);
	assert_true(str_list_has(&pairs, "tony.launcher.instances=1"));
	assert_true(str_list_has(&pairs, "tony.application.untracked.jobtypes=worker"));
	assert_true(str_list_has(&pairs, "tony.worker.command=exec \"$TONY_AGENT\" host"));
}

/* ---- the environment ---------------------------------------------------------------------- */

struct bed {
	struct job *job;
	struct cluster *cluster;
	struct framework_task task;
	struct environment environment;
	struct err err;
};

static void open_bed(struct bed *bed, const char *shape, const char *type)
{
	*bed = (struct bed){.job = mpi_job(shape)};
	bed->cluster = fixture_cluster(bed->job, shape);
	fixture_task(bed->job, bed->cluster, type, 0, &bed->task);
}

static void close_bed(struct bed *bed)
{
	environment_finish(&bed->environment);
	cluster_destroy(bed->cluster);
	job_destroy(bed->job);
	err_finish(&bed->err);
}

static const char *value_of(const struct bed *bed, const char *key)
{
	return environment_get(&bed->environment, key);
}

static void a_single_program_has_its_ranks_here(void **state)
{
	struct bed bed;

	open_bed(&bed, "single", "worker");
	json_object_clear(bed.job->config);
	mem_replace(&bed.job->types[0].name, mem_strdup("driver"));
	bed.cluster->types[0].name = bed.job->types[0].name;
	assert_success(framework_find("mpi")->check(bed.job, &bed.err), &bed.err);
	assert_success(framework_environment(&bed.task, &bed.environment, &bed.err), &bed.err);
	assert_string_equal(value_of(&bed, "OMPI_ALLOW_RUN_AS_ROOT"), "1");
	assert_string_equal(value_of(&bed, "OMPI_MCA_orte_tmpdir_base"),
			    "/state/jobs/j/containers/c");
	assert_null(value_of(&bed, "OMPI_MCA_plm_rsh_agent"));
	close_bed(&bed);
}

static void an_agent_that_open_mpi_cannot_start_is_told(void **state)
{
	static const char *const paths[] = {"/opt/my tony/tony-agent", "/opt/a:b/tony-agent"};

	for (size_t i = 0; i < array_length(paths); i++) {
		struct bed bed;
		open_bed(&bed, "mpi", "launcher");
		bed.task.agent = paths[i];
		assert_int_equal(framework_environment(&bed.task, &bed.environment, &bed.err), -1);
		assert_message_has(&bed.err, "install tony elsewhere");
		close_bed(&bed);
	}
}

/* Gives the workers of the shape "mpi" so many addresses. */
static void grow(struct bed *bed, size_t count)
{
	struct cluster_type *workers = &bed->cluster->types[0];

	bed->job->types[0].instances = (int)count;
	workers->addresses =
		mem_realloc_array(workers->addresses, count, sizeof(*workers->addresses));
	for (; workers->count < count; workers->count++)
		workers->addresses[workers->count] =
			(struct cluster_address){mem_strdup("node-a"), 4001};
}

static void many_workers_have_as_many_agents(void **state)
{
	struct bed bed;

	open_bed(&bed, "mpi", "launcher");
	grow(&bed, 129);
	assert_success(framework_environment(&bed.task, &bed.environment, &bed.err), &bed.err);
	assert_string_equal(value_of(&bed, "OMPI_MCA_plm_rsh_num_concurrent"), "129");
	assert_text_has(value_of(&bed, "OMPI_MCA_orte_default_dash_host"), ",tony-worker-128:2");
	close_bed(&bed);
}

static void more_hosts_than_a_variable_holds_are_told(void **state)
{
	struct bed bed;

	open_bed(&bed, "mpi", "launcher");
	grow(&bed, 8000);
	assert_int_equal(framework_environment(&bed.task, &bed.environment, &bed.err), -1);
	assert_message_has(&bed.err, "tony.worker.instances: \"8000\"");
	close_bed(&bed);
}

/* ---- names -------------------------------------------------------------------------------- */

static void a_name_leads_to_the_task(void **state)
{
	static const char text[] = "{\"epoch\": 1, \"types\": {\"worker\": [\"127.0.0.1:4001\", "
				   "\"[::1]:4002\"], \"gpu-worker\": [\"10.0.0.1:4003\"]}}";
	struct err err cleanup_err = {0};
	json_t *cluster cleanup_json = json_parse(text, strlen(text), &err);

	char *name cleanup_free = mpi_host_name("gpu-worker", 0);
	assert_string_equal(name, "tony-gpu-worker-0");
	assert_text_freed(mpi_host_address(cluster, name, &err), "10.0.0.1:4003");
	assert_text_freed(mpi_host_address(cluster, "tony-worker-1", &err), "[::1]:4002");
}

static void who_is_no_host_is_told(void **state)
{
	static const char *const names[] = {"worker-0",
					    "tony-worker",
					    "tony-worker-",
					    "tony-worker-2",
					    "tony-ps-0",
					    "tony-worker--1",
					    ""};
	json_t *cluster cleanup_json = json_pack("{s:{s:[s]}}", "types", "worker", "127.0.0.1:1");

	for (size_t i = 0; i < array_length(names); i++) {
		struct err err cleanup_err = {0};
		assert_null(mpi_host_address(cluster, names[i], &err));
		char *quoted cleanup_free = mem_printf("\"%s\"", names[i]);
		assert_message_has(&err, quoted);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_works_is_taken),
		cmocka_unit_test(one_launcher_and_some_workers_are_there),
		cmocka_unit_test(workers_serve_mpirun_and_nothing_else),
		cmocka_unit_test(the_launcher_is_added),
		cmocka_unit_test(a_single_program_has_its_ranks_here),
		cmocka_unit_test(an_agent_that_open_mpi_cannot_start_is_told),
		cmocka_unit_test(many_workers_have_as_many_agents),
		cmocka_unit_test(more_hosts_than_a_variable_holds_are_told),
		cmocka_unit_test(a_name_leads_to_the_task),
		cmocka_unit_test(who_is_no_host_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
