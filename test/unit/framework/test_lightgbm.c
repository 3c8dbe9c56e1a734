#include "../base/test.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fixture.h"
#include "framework/environment.h"

static const struct framework_ops *lightgbm(void)
{
	return framework_find("lightgbm");
}

static void expect_refusal(struct job *job, const char *part)
{
	struct err err cleanup_err = {0};

	assert_int_equal(lightgbm()->check(job, &err), -1);
	assert_int_equal(err.kind, ERR_CONFIG);
	assert_message_has(&err, part);
	job_destroy(job);
}

static void what_works_is_taken(void **state)
{
	static const char *const shapes[] = {"workers", "single", "names"};

	for (size_t i = 0; i < array_length(shapes); i++) {
		struct err err cleanup_err = {0};
		struct job *job = fixture_job("lightgbm", shapes[i]);
		assert_success(lightgbm()->check(job, &err), &err);
		job_destroy(job);
	}
}

static void one_process_for_each_port_and_all_known_at_the_start(void **state)
{
	struct job *job = fixture_job("lightgbm", "workers");

	job->types[0].processes = 4;
	job->types[0].vcores = 2;
	expect_refusal(job, "tony.worker.processes: \"4\"");
	job = fixture_job("lightgbm", "workers");
	job->types[0].processes = 4;
	job->types[0].vcores = 2;
	expect_refusal(job, "tony.worker.vcores to 8");
	job = fixture_job("lightgbm", "workers");
	job->mode = JOB_MODE_FCFS;
	expect_refusal(job, "use GANG");
	job = fixture_job("lightgbm", "workers");
	job->types[0].role = JOB_ROLE_UNTRACKED;
	expect_refusal(job, "no one trains");
}

static void ports_are_not_held(void **state)
{
	struct str_list types cleanup_str_list = {0}, pairs cleanup_str_list = {0};
	const struct framework_shape shape = {.types = &types, .python = "python3"};

	str_list_add(&types, "chief");
	str_list_add(&types, "worker");
	lightgbm()->defaults(&shape, &pairs);
	assert_true(str_list_has(&pairs, "tony.chief.hold-port=false"));
	assert_true(str_list_has(&pairs, "tony.worker.hold-port=false"));
}

/* The output of bash for the command of this task, with a getent that knows node-a. */
static char *run_command(const char *shape, const char *type, int index, const char *machines)
{
	struct framework_task task;
	struct job *job = fixture_job("lightgbm", shape);
	struct cluster *cluster = fixture_cluster(job, shape);
	char *output = NULL;

	fixture_task(job, cluster, type, index, &task);
	char *command cleanup_free = lightgbm()->command(&task, "echo $LIGHTGBM_MACHINES");
	char *script cleanup_free =
		mem_printf("getent() { case $2 in node-a) echo 192.0.2.1 STREAM node-a; echo "
			   "192.0.2.1 DGRAM ;; "
			   "1*) echo $2 STREAM ;; *) return 2 ;; esac; }\nexec 2>&1\n%s",
			   command);
	char *quoted cleanup_free = str_shell_quote(script);
	char *line cleanup_free = mem_printf("LIGHTGBM_MACHINES=%s bash -c %s", machines, quoted);
	FILE *pipe = popen(line, "r"); // NOLINT(cert-env33-c): the shell is what is tested
	assert_non_null(pipe);
	output = mem_alloc(4096);
	size_t length = fread(output, 1, 4095, pipe);
	output[length] = '\0';
	pclose(pipe);
	cluster_destroy(cluster);
	job_destroy(job);
	return output;
}

static void names_become_numbers_where_the_program_runs(void **state)
{
	char *found cleanup_free = run_command("names", "worker", 1, "node-a:4001,192.0.2.3:4002");
	char *missing cleanup_free = run_command("names", "worker", 1, "node-b:4001,node-a:4002");
	char *numbers cleanup_free = run_command("workers", "worker", 0, "node-b:4001");
	char *sidecar cleanup_free = run_command("names", "tensorboard", 0, "node-b:4001");

	assert_string_equal(found, "192.0.2.1:4001,192.0.2.3:4002\n");
	assert_string_equal(missing, "tony: LightGBM needs the IPv4 address of node-b, and getent "
				     "finds none\n");
	assert_string_equal(numbers, "node-b:4001\n");
	assert_string_equal(sidecar, "node-b:4001\n");
}

static void ipv6_is_refused_with_its_address(void **state)
{
	struct framework_task task;
	struct environment environment cleanup_environment = {0};
	struct err err cleanup_err = {0};
	struct job *job = fixture_job("lightgbm", "workers");
	struct cluster *cluster = fixture_cluster(job, "workers");

	mem_replace(&cluster->types[0].addresses[1].host, mem_strdup("2001:db8::7"));
	fixture_task(job, cluster, "worker", 0, &task);
	assert_int_equal(lightgbm()->environment(&task, &environment, &err), -1);
	assert_message_has(&err, "IPv4 only, and the address is 2001:db8::7");
	cluster_destroy(cluster);
	job_destroy(job);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_works_is_taken),
		cmocka_unit_test(one_process_for_each_port_and_all_known_at_the_start),
		cmocka_unit_test(ports_are_not_held),
		cmocka_unit_test(names_become_numbers_where_the_program_runs),
		cmocka_unit_test(ipv6_is_refused_with_its_address),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
