/* Dask and Ray: a server, pools of workers, a driver. */
#include "../base/test.h"

#include <string.h>

#include "base/mem.h"
#include "fixture.h"

struct row {
	const char *framework, *server;
};

static const struct row rows[] = {{"dask", "scheduler"}, {"ray", "head"}};

static void defaults_of(const char *framework, const char *types, struct str_list *pairs)
{
	struct str_list list cleanup_str_list = {0};

	str_split(&list, types, ',');
	framework_find(framework)->defaults(
		&(struct framework_shape){.types = &list, .python = "python3"}, pairs);
}

static bool has_pair(const struct str_list *pairs, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *pair cleanup_free = mem_vprintf(format, args);
	va_end(args);
	return str_list_has(pairs, pair);
}

static bool has_key(const struct str_list *pairs, const char *key)
{
	for (size_t i = 0; i < pairs->count; i++)
		if (str_starts_with(pairs->items[i], key))
			return true;
	return false;
}

static void the_driver_is_all_that_the_job_waits_for(void **state)
{
	for (size_t i = 0; i < array_length(rows); i++) {
		struct str_list pairs cleanup_str_list = {0};
		defaults_of(rows[i].framework, "worker", &pairs);
		assert_true(has_pair(&pairs, "tony.application.untracked.jobtypes=%s,worker",
				     rows[i].server));
		assert_true(has_pair(&pairs, "tony.%s.instances=1", rows[i].server));
		assert_true(has_pair(&pairs, "tony.driver.instances=1"));
		assert_false(has_key(&pairs, "tony.driver.command="));
	}
}

static void every_pool_is_restarted_in_place(void **state)
{
	for (size_t i = 0; i < array_length(rows); i++) {
		struct str_list pairs cleanup_str_list = {0};
		defaults_of(rows[i].framework, "evaluator,worker,gpuworker", &pairs);
		assert_true(has_pair(&pairs,
				     "tony.application.untracked.jobtypes=%s,worker,gpuworker",
				     rows[i].server));
		assert_true(has_pair(&pairs, "tony.worker.max-restarts=10"));
		assert_true(has_pair(&pairs, "tony.gpuworker.max-restarts=10"));
		assert_true(has_key(&pairs, "tony.gpuworker.command=exec python3 "));
		assert_false(has_key(&pairs, "tony.evaluator."));
	}
}

static void expect_message(const struct row *row, struct job *job, const char *part)
{
	struct err err cleanup_err = {0};
	int result = framework_find(row->framework)->check(job, &err);

	if (!part && result < 0)
		fail_msg("%s", err_message(&err));
	if (!part)
		return;
	assert_int_equal(result, -1);
	assert_int_equal(err.kind, ERR_CONFIG);
	if (!strstr(err_message(&err), part))
		fail_msg("no \"%s\" in: %s", part, err_message(&err));
}

static struct job_type *type_of(struct job *job, const char *name)
{
	return &job->types[job_find_type(job, name)];
}

static void shapes_that_cannot_work_are_refused(void **state)
{
	for (size_t i = 0; i < array_length(rows); i++) {
		const struct row *row = &rows[i];
		struct job *job = fixture_job(row->framework, row->framework);
		struct job_type *server = type_of(job, row->server);
		char *two cleanup_free = mem_printf("tony.%s.instances: \"2\"", row->server);
		char *role cleanup_free = mem_printf("add %s to this list", row->server);

		expect_message(row, job, NULL);
		server->instances = 2;
		expect_message(row, job, two);
		server->instances = 1;
		server->processes = 2;
		expect_message(row, job, two);
		server->processes = 1;
		server->role = JOB_ROLE_TRACKED;
		expect_message(row, job, role);
		server->role = JOB_ROLE_UNTRACKED;
		type_of(job, "worker")->role = JOB_ROLE_TRACKED;
		expect_message(row, job, "add worker to this list");
		type_of(job, "worker")->instances = 0;
		expect_message(row, job, "--workers N");
		job->mode = JOB_MODE_FCFS;
		expect_message(row, job, "use GANG");
		job_destroy(job);
	}
}

static void a_job_without_its_server_is_refused(void **state)
{
	for (size_t i = 0; i < array_length(rows); i++) {
		struct job *job = fixture_job(rows[i].framework, "workers");
		char *none cleanup_free = mem_printf("tony.%s.instances: \"0\"", rows[i].server);

		expect_message(&rows[i], job, none);
		job_destroy(job);
	}
}

static void a_node_of_ray_has_room_and_the_processes_that_it_wants(void **state)
{
	const struct row *row = &rows[1];
	struct job *job = fixture_job("ray", "ray");
	struct job_type *worker = type_of(job, "worker");

	worker->processes = 2;
	worker->vcores = 4;
	expect_message(row, job, "tony.worker.processes: \"2\"");
	expect_message(row, job, "tony.worker.vcores to 8");
	worker->processes = 1;
	worker->memory = 511;
	expect_message(row, job, "tony.worker.memory: 511 MiB");
	worker->memory = 512;
	expect_message(row, job, NULL);
	type_of(job, "head")->memory = 256;
	expect_message(row, job, "tony.head.memory: 256 MiB");
	job_destroy(job);
}

static void the_driver_of_ray_sees_its_head(void **state)
{
	const struct row *row = &rows[1];
	struct job *job = fixture_job("ray", "ray");

	type_of(job, "worker")->isolation = JOB_ISOLATION_PID_NAMESPACE;
	expect_message(row, job, NULL);
	type_of(job, "driver")->isolation = JOB_ISOLATION_PID_NAMESPACE;
	expect_message(row, job, "tony.driver.isolation");
	type_of(job, "driver")->isolation = JOB_ISOLATION_NONE;
	type_of(job, "head")->isolation = JOB_ISOLATION_PID_NAMESPACE;
	expect_message(row, job, "tony.head.isolation");
	job_destroy(job);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_driver_is_all_that_the_job_waits_for),
		cmocka_unit_test(every_pool_is_restarted_in_place),
		cmocka_unit_test(shapes_that_cannot_work_are_refused),
		cmocka_unit_test(a_job_without_its_server_is_refused),
		cmocka_unit_test(a_node_of_ray_has_room_and_the_processes_that_it_wants),
		cmocka_unit_test(the_driver_of_ray_sees_its_head),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
