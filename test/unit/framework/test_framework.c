#include "../base/test.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "fixture.h"
#include "framework/environment.h"
#include "framework/variables.h"
#include "job/task_variables.h"

struct scene {
	struct job *job;
	struct cluster *cluster;
	struct framework_task task;
	struct environment environment;
	struct err err;
};

static struct scene scene_open(const char *framework, const char *shape, const char *type,
			       int index)
{
	struct scene scene = {.job = fixture_job(framework, shape)};

	scene.cluster = fixture_cluster(scene.job, shape);
	fixture_task(scene.job, scene.cluster, type, index, &scene.task);
	return scene;
}

static void scene_close(struct scene *scene)
{
	environment_finish(&scene->environment);
	err_finish(&scene->err);
	cluster_destroy(scene->cluster);
	job_destroy(scene->job);
}

static const char *get(struct scene *scene, const char *key)
{
	environment_finish(&scene->environment);
	scene->environment = (struct environment){0};
	if (framework_environment(&scene->task, &scene->environment, &scene->err) < 0)
		fail_msg("%s", err_message(&scene->err));
	return environment_get(&scene->environment, key);
}

static void expect_expansion(struct scene *scene, const char *text, const char *want)
{
	char *got cleanup_free = framework_expand(&scene->task, text, &scene->err);

	if (!got)
		fail_msg("%s: %s", text, err_message(&scene->err));
	assert_string_equal(got, want);
}

static void expect_refusal(struct scene *scene, const char *text, const char *part)
{
	char *got cleanup_free = framework_expand(&scene->task, text, &scene->err);

	assert_null(got);
	assert_int_equal(scene->err.kind, ERR_CONFIG);
	if (!strstr(err_message(&scene->err), part))
		fail_msg("no \"%s\" in: %s", part, err_message(&scene->err));
	err_finish(&scene->err);
}

static void environment_keeps_order_and_the_last_value(void **state)
{
	struct environment environment cleanup_environment = {0};

	environment_set(&environment, "A", "1");
	environment_set(&environment, "AB", "2");
	environment_set_pair(&environment, "A=3=4");
	environment_set_pair(&environment, "BARE");
	environment_remove(&environment, "AB");
	environment_remove(&environment, "ABSENT");
	assert_int_equal(environment.entries.count, 2);
	assert_string_equal(environment.entries.items[0], "A=3=4");
	assert_string_equal(environment.entries.items[1], "BARE=");
	assert_null(environment.entries.items[2]);
	assert_string_equal(environment_get(&environment, "A"), "3=4");
	assert_null(environment_get(&environment, "AB"));
	assert_null(environment_get(&environment, "B"));
}

static void templates_are_expanded(void **state)
{
	struct scene scene = scene_open("generic", "dense", "worker", 1);

	struct job_type *type = &scene.job->types[scene.task.type];
	type->memory = 3072;
	type->vcores = 4;
	type->gpus = 2;
	scene.task.process = 1;
	expect_expansion(&scene, "", "");
	expect_expansion(&scene, "plain { } }} text", "plain { } }} text");
	expect_expansion(&scene, "{{task.name}} {{task.type}} {{ task.index }} of {{task.count}}",
			 "worker:1 worker 1 of 2");
	expect_expansion(&scene, "{{task.process}}{{task.attempt}}{{task.restart}}{{epoch}}",
			 "1102");
	expect_expansion(&scene, "{{task.processes}} {{task.memory}} {{task.vcores}} {{task.gpus}}",
			 "2 3072 4 2");
	expect_expansion(&scene, "{{task.host}}:{{task.port}} {{ui.port}}", "node-b:4003 6006");
	expect_expansion(&scene, "{{cluster.worker}}", "[fe80::1]:4002,node-b:4003");
	expect_expansion(&scene, "{{cluster.worker.1}}|{{cluster.data}}|", "node-b:4003||");
	expect_expansion(&scene, "{{job.id}}/{{job.name}}/{{job.user}}",
			 "tony-20261121-061400-1f3a/digits/ada");
	expect_expansion(&scene, "{{checkpoint.dir}} {{am.url}}",
			 "/state/jobs/j/checkpoint http://127.0.0.1:4000");
	scene_close(&scene);
}

static void text_that_only_looks_like_a_template_stays(void **state)
{
	struct scene scene = scene_open("generic", "workers", "worker", 0);

	expect_expansion(&scene, "awk '{{print $1}}'", "awk '{{print $1}}'");
	expect_expansion(&scene, "{{", "{{");
	expect_expansion(&scene, "{{task.index}", "{{task.index}");
	expect_expansion(&scene, "{{}}", "{{}}");
	expect_expansion(&scene, "{{{{task.index}}", "{{task.index}}");
	expect_expansion(&scene, "{{{{{{task.index}}", "{{0");
	scene_close(&scene);
}

static void unknown_templates_are_errors_that_help(void **state)
{
	struct scene scene = scene_open("generic", "workers", "worker", 0);

	expect_refusal(&scene, "x {{task.indx}}", "unknown template {{task.indx}}");
	expect_refusal(&scene, "{{task}}", "task.index");
	expect_refusal(&scene, "{{nope}}", "{{{{");
	expect_refusal(&scene, "{{cluster.ps}}", "no task type \"ps\"");
	expect_refusal(&scene, "{{cluster.worker.2}}", "{{cluster.worker.2}}: worker has 2 tasks");
	expect_refusal(&scene, "{{cluster.worker.-1}}", "counted from 0");
	expect_refusal(&scene, "{{cluster.worker.x}}", "counted from 0");
	scene_close(&scene);
}

static void first_come_first_served_has_no_cluster_variables(void **state)
{
	struct scene scene = scene_open("tensorflow", "workers", "worker", 1);

	scene.job->mode = JOB_MODE_FCFS;
	free(scene.cluster->types[0].addresses[0].host);
	scene.cluster->types[0].addresses[0].host = NULL;
	assert_string_equal(get(&scene, "DISTRIBUTED_MODE"), "FCFS");
	assert_null(environment_get(&scene.environment, "TF_CONFIG"));
	assert_null(environment_get(&scene.environment, "CLUSTER_SPEC"));
	expect_refusal(&scene, "{{cluster.worker}}", "worker:0 has no address yet");
	scene_close(&scene);
}

static void tensorboard_port_goes_to_its_owner_only(void **state)
{
	static const struct {
		const char *framework;
		bool sidecar;
		const char *type;
		bool owns;
	} rows[] = {
		{"tensorflow", false, "chief", true},	   {"tensorflow", false, "worker", false},
		{"tensorflow", true, "chief", false},	   {"tensorflow", true, "worker", false},
		{"tensorflow", true, "tensorboard", true}, {"standalone", false, "chief", false},
	};

	for (size_t i = 0; i < array_length(rows); i++) {
		struct scene scene = scene_open(rows[i].framework, "roles", rows[i].type, 0);
		if (!rows[i].sidecar)
			mem_replace(&scene.job->tensorboard_log_dir, NULL);
		assert_int_equal(get(&scene, "TB_PORT") != NULL, rows[i].owns);
		scene_close(&scene);
	}
}

static void only_the_first_process_gets_the_tensorboard_port(void **state)
{
	struct scene scene = scene_open("pytorch", "dense", "worker", 0);

	assert_string_equal(get(&scene, "TB_PORT"), "6006");
	scene.task.process = 1;
	assert_null(get(&scene, "TB_PORT"));
	scene_close(&scene);
}

static void retries_are_counted_from_the_second_epoch(void **state)
{
	struct scene scene = scene_open("generic", "workers", "worker", 0);

	assert_null(get(&scene, "NUM_AM_RETRIES"));
	assert_string_equal(environment_get(&scene.environment, "SESSION_ID"), "0");
	scene.cluster->epoch = 3;
	scene.task.am_attempt = 2;
	assert_string_equal(get(&scene, "NUM_AM_RETRIES"), "2");
	assert_string_equal(environment_get(&scene.environment, "SESSION_ID"), "2");
	assert_string_equal(environment_get(&scene.environment, "ATTEMPT_NUMBER"), "1");
	scene_close(&scene);
}

static void a_job_without_types_is_a_single_node(void **state)
{
	struct scene scene = scene_open("generic", "single", "worker", 0);

	assert_null(get(&scene, "PREPROCESSING_JOB"));
	json_object_clear(scene.job->config);
	assert_string_equal(get(&scene, "PREPROCESSING_JOB"), "true");
	assert_null(environment_get(&scene.environment, "HOME"));
	scene_close(&scene);
}

static void the_user_has_the_last_word_but_for_tonys_own_names(void **state)
{
	struct scene scene = scene_open("pytorch", "workers", "worker", 0);
	struct str_list *pairs = &scene.job->types[0].environment;

	str_list_add(pairs, "MASTER_PORT=29500");
	str_list_add(pairs, "TONY_CONF_DIR=/etc/tony");
	assert_string_equal(get(&scene, "MASTER_PORT"), "29500");
	assert_string_equal(environment_get(&scene.environment, "TONY_CONF_DIR"), "/etc/tony");
	str_list_add(pairs, "TONY_JOB_ID=other");
	assert_int_equal(framework_environment(&scene.task, &scene.environment, &scene.err), -1);
	assert_non_null(strstr(err_message(&scene.err), "TONY_JOB_ID"));
	mem_replace(&pairs->items[pairs->count - 1], mem_strdup("TONY_CONTAINER=x"));
	assert_int_equal(framework_environment(&scene.task, &scene.environment, &scene.err), -1);
	mem_replace(&pairs->items[pairs->count - 1], mem_strdup("=x"));
	assert_int_equal(framework_environment(&scene.task, &scene.environment, &scene.err), -1);
	scene_close(&scene);
}

static void tonys_own_names_are_known_without_a_task(void **state)
{
	struct scene scene = scene_open("generic", "workers", "worker", 0);
	const struct str_list *entries = &scene.environment.entries;
	size_t found = 0;

	assert_string_equal(get(&scene, "TONY_TASK"), "worker:0");
	for (size_t i = 0; i < entries->count; i++) {
		const char *pair = entries->items[i];
		char *name cleanup_free = mem_strndup(pair, strcspn(pair, "="));
		if (!str_starts_with(name, "TONY_"))
			continue;
		found++;
		if (!task_variables_have(name))
			fail_msg("%s", name);
	}
	assert_true(found > 10);
	assert_false(task_variables_have("TONY_CONF_DIR"));
	scene_close(&scene);
}

static void the_user_takes_variables_out(void **state)
{
	struct scene scene = scene_open("pytorch", "dense", "worker", 0);

	assert_string_equal(get(&scene, "OMP_NUM_THREADS"), "1");
	str_list_add(&scene.job->types[scene.task.type].environment, "OMP_NUM_THREADS");
	assert_null(get(&scene, "OMP_NUM_THREADS"));
	scene_close(&scene);
}

static void malloc_arena_max_is_yarns_not_the_users(void **state)
{
	struct scene scene = scene_open("generic", "single", "worker", 0);

	environment_set(&scene.environment, "MALLOC_ARENA_MAX", "4");
	assert_int_equal(framework_environment(&scene.task, &scene.environment, &scene.err), 0);
	assert_null(environment_get(&scene.environment, "MALLOC_ARENA_MAX"));
	str_list_add(&scene.job->types[0].environment, "MALLOC_ARENA_MAX=2");
	assert_string_equal(get(&scene, "MALLOC_ARENA_MAX"), "2");
	scene_close(&scene);
}

static void ranks_are_unique_and_start_at_the_master(void **state)
{
	struct scene scene = scene_open("pytorch", "roles", "worker", 0);
	bool seen[4] = {false};
	static const struct {
		const char *type;
		int index;
	} members[] = {{"chief", 0}, {"worker", 0}, {"worker", 1}, {"evaluator", 0}};

	for (size_t i = 0; i < array_length(members); i++) {
		fixture_task(scene.job, scene.cluster, members[i].type, members[i].index,
			     &scene.task);
		int rank = atoi(get(&scene, "RANK"));
		assert_in_range(rank, 0, 3);
		assert_false(seen[rank]);
		seen[rank] = true;
		assert_string_equal(environment_get(&scene.environment, "WORLD_SIZE"), "4");
		assert_string_equal(environment_get(&scene.environment, "MASTER_ADDR"), "node-a");
	}
	fixture_task(scene.job, scene.cluster, "ps", 0, &scene.task);
	assert_null(get(&scene, "RANK"));
	scene_close(&scene);
}

static void a_cluster_too_large_for_a_variable_is_told(void **state)
{
	struct scene scene = scene_open("tensorflow", "workers", "worker", 0);
	struct cluster_type *type = &scene.cluster->types[0];

	type->addresses = mem_realloc_array(type->addresses, 10000, sizeof(*type->addresses));
	for (; type->count < 10000; type->count++)
		type->addresses[type->count] =
			(struct cluster_address){mem_strdup("node.example.org"), 40000};
	assert_int_equal(framework_environment(&scene.task, &scene.environment, &scene.err), -1);
	assert_non_null(strstr(err_message(&scene.err), "TF_CONFIG"));
	mem_replace(&scene.job->framework, mem_strdup("generic"));
	assert_null(get(&scene, "CLUSTER_SPEC"));
	assert_non_null(environment_get(&scene.environment, "TONY_CLUSTER_FILE"));
	scene_close(&scene);
}

static int check(const char *framework, const char *shape, enum job_mode mode)
{
	struct err err cleanup_err = {0};
	struct job *job = fixture_job(framework, shape);

	job->mode = mode;
	int result = framework_check(job, &err);
	assert_true(result == 0 || err.kind == ERR_CONFIG);
	job_destroy(job);
	return result;
}

static void shapes_that_cannot_work_are_refused(void **state)
{
	assert_int_equal(check("standalone", "single", JOB_MODE_GANG), 0);
	assert_int_equal(check("standalone", "workers", JOB_MODE_GANG), -1);
	assert_int_equal(check("tensorflow", "roles", JOB_MODE_FCFS), 0);
	assert_int_equal(check("tensorflow", "dense", JOB_MODE_GANG), -1);
	assert_int_equal(check("pytorch", "dense", JOB_MODE_GANG), 0);
	assert_int_equal(check("pytorch", "workers", JOB_MODE_FCFS), -1);
	assert_int_equal(check("generic", "dense", JOB_MODE_FCFS), 0);
}

static void a_job_in_which_nobody_trains_is_refused(void **state)
{
	struct err err cleanup_err = {0};
	struct job *job = fixture_job("pytorch", "workers");

	job->types[0].role = JOB_ROLE_UNTRACKED;
	assert_int_equal(framework_check(job, &err), -1);
	job_destroy(job);
}

/* promise: S14 */
static void a_secret_is_of_one_job_and_is_not_its_token(void **state)
{
	struct job *job = fixture_job("ray", "ray");
	char *one cleanup_free = framework_secret(job, "4faeb949");
	char *again cleanup_free = framework_secret(job, "4faeb949");
	char *other cleanup_free = framework_secret(job, "4faeb94a");

	assert_string_equal(one, again);
	assert_string_not_equal(one, other);
	assert_null(strstr(one, "4faeb949"));
	mem_replace(&job->framework, mem_strdup("pytorch"));
	assert_null(framework_secret(job, "4faeb949"));
	job_destroy(job);
}

static void frameworks_are_found_in_any_case(void **state)
{
	struct str_list names cleanup_str_list = {0};

	framework_names(&names);
	assert_true(names.count >= 4);
	assert_string_equal(framework_find("PyTorch")->name, "pytorch");
	assert_null(framework_find("torch"));
	assert_null(framework_find(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(environment_keeps_order_and_the_last_value),
		cmocka_unit_test(templates_are_expanded),
		cmocka_unit_test(text_that_only_looks_like_a_template_stays),
		cmocka_unit_test(unknown_templates_are_errors_that_help),
		cmocka_unit_test(first_come_first_served_has_no_cluster_variables),
		cmocka_unit_test(tensorboard_port_goes_to_its_owner_only),
		cmocka_unit_test(only_the_first_process_gets_the_tensorboard_port),
		cmocka_unit_test(retries_are_counted_from_the_second_epoch),
		cmocka_unit_test(a_job_without_types_is_a_single_node),
		cmocka_unit_test(the_user_has_the_last_word_but_for_tonys_own_names),
		cmocka_unit_test(tonys_own_names_are_known_without_a_task),
		cmocka_unit_test(the_user_takes_variables_out),
		cmocka_unit_test(malloc_arena_max_is_yarns_not_the_users),
		cmocka_unit_test(ranks_are_unique_and_start_at_the_master),
		cmocka_unit_test(a_cluster_too_large_for_a_variable_is_told),
		cmocka_unit_test(shapes_that_cannot_work_are_refused),
		cmocka_unit_test(a_job_in_which_nobody_trains_is_refused),
		cmocka_unit_test(a_secret_is_of_one_job_and_is_not_its_token),
		cmocka_unit_test(frameworks_are_found_in_any_case),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
