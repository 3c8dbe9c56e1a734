#include "../base/test.h"

#include "base/json.h"
#include "base/mem.h"
#include "fixture.h"
#include "framework/environment.h"
#include "framework/horovod_place.h"
#include "framework/horovod_plan.h"
#include "framework/slots.h"

#define DEBUG_KEY "tony.horovod.driver.mode.debug"

static void set(struct job *job, const char *key, const char *value)
{
	json_object_set_new(job->config, key, json_pack("{s:s}", "value", value));
}

/* A job with a driver of its own, as TonY's manual shows one. */
static struct job *debug_job(void)
{
	struct job *job = fixture_job("horovod", "driver");

	set(job, DEBUG_KEY, "True");
	set(job, "tony.driver.command", "python3 driver.py");
	return job;
}

static void expect_accepted(struct job *job)
{
	struct err err cleanup_err = {0};

	assert_success(framework_find("horovod")->check(job, &err), &err);
	job_destroy(job);
}

static void expect_refusal(struct job *job, const char *part)
{
	struct err err cleanup_err = {0};

	assert_int_equal(framework_find("horovod")->check(job, &err), -1);
	assert_int_equal(err.kind, ERR_CONFIG);
	assert_message_has(&err, part);
	job_destroy(job);
}

/* ---- shapes ------------------------------------------------------------------------------- */

static void what_works_is_taken(void **state)
{
	static const char *const shapes[] = {"workers", "ring", "roles", "single"};

	for (size_t i = 0; i < array_length(shapes); i++)
		expect_accepted(fixture_job("horovod", shapes[i]));
	expect_accepted(debug_job());
}

static void a_ring_needs_all_from_the_start(void **state)
{
	struct job *job = fixture_job("horovod", "workers");

	job->mode = JOB_MODE_FCFS;
	expect_refusal(job, "use GANG");
	job = fixture_job("horovod", "workers");
	job->types[0].max_restarts = 2;
	expect_refusal(job, "tony.worker.max-restarts: \"2\"");
	job = fixture_job("horovod", "workers");
	job->types[0].role = JOB_ROLE_UNTRACKED;
	expect_refusal(job, "every task is untracked");
	job = fixture_job("horovod", "workers");
	job->types[0].processes = 2049;
	expect_refusal(job, "4098 processes");
}

static void what_prepares_may_restart_in_its_place(void **state)
{
	struct job *job = fixture_job("horovod", "dense");
	struct job_type *worker = &job->types[2];

	job->types[0].max_restarts = 2;
	worker->dependencies = mem_alloc(sizeof(*worker->dependencies));
	worker->dependency_count = 1;
	expect_accepted(job);
}

static void a_driver_needs_its_mode(void **state)
{
	struct job *job = debug_job();

	set(job, DEBUG_KEY, "false");
	expect_refusal(job, "set " DEBUG_KEY "=true");
	job = fixture_job("horovod", "workers");
	set(job, "tony.driver.memory", "2g");
	expect_refusal(job, "tony.driver.memory: ");
	job = fixture_job("horovod", "workers");
	set(job, DEBUG_KEY, "true");
	expect_refusal(job, "set tony.driver.instances to 1");
}

static void there_is_one_driver_with_a_command_of_its_own(void **state)
{
	struct job *job = debug_job();

	job->types[0].instances = 2;
	expect_refusal(job, "tony.driver.instances: \"2\"");
	job = debug_job();
	json_object_del(job->config, "tony.driver.command");
	expect_refusal(job, "tony.driver.command is not set");
	job = debug_job();
	job->types[0].role = JOB_ROLE_TRACKED;
	expect_refusal(job, "add driver to this list");
}

/* TonY calls its only task "driver"; so does a program that runs alone here. */
static void a_single_node_is_no_driver(void **state)
{
	struct job *job = fixture_job("horovod", "single");

	mem_replace(&job->types[0].name, mem_strdup("driver"));
	json_object_clear(job->config);
	set(job, "tony.driver.processes", "2");
	assert_true(framework_has_rendezvous(job));
	expect_accepted(job);
}

static void defaults_keep_the_driver_from_being_waited_for(void **state)
{
	struct str_list types cleanup_str_list = {0}, pairs cleanup_str_list = {0};
	struct framework_shape shape = {.types = &types, .python = "python3"};

	str_list_add(&types, "worker");
	framework_find("horovod")->defaults(&shape, &pairs);
	assert_int_equal(pairs.count, 2);
	assert_string_equal(pairs.items[0], "tony.application.fail-on-worker-failure-enabled=true");
	assert_string_equal(pairs.items[1], "tony.worker.strict-port=true");
	str_list_add(&types, "driver");
	framework_find("horovod")->defaults(&shape, &pairs);
	assert_true(str_list_has(&pairs, "tony.application.untracked.jobtypes=driver"));
}

/* ---- who serves the rendezvous ------------------------------------------------------------ */

static char *command_of(struct job *job, const char *shape, const char *type)
{
	struct cluster *cluster = fixture_cluster(job, shape);
	struct framework_task task;

	fixture_task(job, cluster, type, 0, &task);
	mem_replace(&job->types[task.type].command, mem_strdup("echo 'a'"));
	char *command = framework_command(&task, NULL);
	cluster_destroy(cluster);
	return command;
}

static void a_driver_and_those_that_wait_for_it_run_below_the_agent(void **state)
{
	struct job *job = debug_job();

	job->registration_timeout_ms = 900000;
	assert_false(framework_has_rendezvous(job));
	assert_text_freed(command_of(job, "driver", "worker"),
			  "exec /opt/tony/tony-agent horovod worker \"$0\" -c 'echo '\\''a'\\'''");
	assert_text_freed(command_of(job, "driver", "driver"),
			  "exec /opt/tony/tony-agent horovod driver 900000 \"$0\" -c "
			  "'echo '\\''a'\\'''");
	/* What ends before the driver begins cannot wait for it. */
	job->types[0].dependencies = mem_alloc(sizeof(*job->types[0].dependencies));
	job->types[0].dependencies[0].type = 1;
	job->types[0].dependency_count = 1;
	assert_text_freed(command_of(job, "driver", "worker"), "echo 'a'");
	job->types[0].dependency_count = 0;
	job->types[1].role = JOB_ROLE_SIDECAR;
	assert_text_freed(command_of(job, "driver", "worker"), "echo 'a'");
	job_destroy(job);
}

static void without_a_driver_commands_stay_as_they_are(void **state)
{
	struct job *job = fixture_job("horovod", "workers");

	assert_true(framework_has_rendezvous(job));
	assert_text_freed(command_of(job, "workers", "worker"), "echo 'a'");
	job_destroy(job);
}

/* ---- elastic rings ------------------------------------------------------------------------ */

static struct job *live_job(void)
{
	struct job *job = fixture_job("horovod", "ring");
	struct job_type *worker = &job->types[job_find_type(job, "worker")];

	worker->min_instances = 1;
	worker->max_instances = worker->instances;
	job->live_elastic = framework_lives_through_changes(job);
	return job;
}

static void elastic_rings_live_through_changes(void **state)
{
	struct job *job = live_job();

	assert_true(job->live_elastic);
	job->types[job_find_type(job, "worker")].max_restarts = 3;
	expect_accepted(job);
	job = fixture_job("horovod", "ring");
	assert_false(framework_lives_through_changes(job));
	job_destroy(job);
	job = debug_job();
	job->types[1].min_instances = 1;
	job->types[1].max_instances = 4;
	assert_false(framework_lives_through_changes(job));
	job_destroy(job);
	job = fixture_job("generic", "workers");
	job->types[0].min_instances = 1;
	job->types[0].max_instances = 2;
	assert_false(framework_lives_through_changes(job));
	job_destroy(job);
}

static void all_that_may_come_fit_into_an_elastic_ring(void **state)
{
	struct job *job = live_job();

	job->types[job_find_type(job, "worker")].max_instances = 4096;
	expect_refusal(job, "processes in one ring");
}

static void a_member_asks_for_its_place(void **state)
{
	struct environment variables cleanup_environment = {0};
	struct job *job = live_job();
	struct cluster *cluster = fixture_cluster(job, "ring");
	struct framework_task task;

	fixture_task(job, cluster, "worker", 1, &task);
	task.restart = 2;
	assert_int_equal(framework_environment(&task, &variables, NULL), 0);
	assert_string_equal(environment_get(&variables, "HOROVOD_ELASTIC"), "1");
	assert_string_equal(environment_get(&variables, "HOROVOD_HOSTNAME"),
			    "node-a~worker.1.0~1.2.2");
	assert_string_equal(environment_get(&variables, "HOROVOD_GLOO_RENDEZVOUS_ADDR"), "node-c");
	assert_null(environment_get(&variables, "HOROVOD_RANK"));
	assert_null(environment_get(&variables, "CLUSTER_SPEC"));
	assert_text_freed(command_of(job, "ring", "worker"),
			  "exec /opt/tony/tony-agent horovod member \"$0\" -c 'echo '\\''a'\\'''");
	assert_text_freed(command_of(job, "ring", "evaluator"), "echo 'a'");
	cluster_destroy(cluster);
	job_destroy(job);
}

static void a_place_is_six_numbers(void **state)
{
	static const char *const others[] = {"", "0,2,0,1,0", "0,2,0,1,0,2,1", "-1,-1,-1,-1,-1,-1"};
	const struct slot slot = {.rank = 3, .local_rank = 1, .local_size = 2, .cross_size = 5};
	struct environment variables cleanup_environment = {0};
	char *text cleanup_free = horovod_place_text(&slot, 7);

	assert_string_equal(text, "3,7,1,2,0,5");
	assert_int_equal(horovod_place_apply(text, &variables, NULL), 0);
	assert_string_equal(environment_get(&variables, "HOROVOD_RANK"), "3");
	assert_string_equal(environment_get(&variables, "HOROVOD_SIZE"), "7");
	assert_string_equal(environment_get(&variables, "HOROVOD_LOCAL_RANK"), "1");
	assert_string_equal(environment_get(&variables, "HOROVOD_CROSS_SIZE"), "5");
	for (size_t i = 0; i < array_length(others); i++)
		assert_int_equal(horovod_place_apply(others[i], &variables, NULL), -1);
}

static void a_rendezvous_is_needed(void **state)
{
	struct environment variables cleanup_environment = {0};
	struct job *job = fixture_job("horovod", "single");
	struct cluster *cluster = fixture_cluster(job, "single");
	struct err err cleanup_err = {0};
	struct framework_task task;

	fixture_task(job, cluster, "worker", 0, &task);
	assert_int_equal(framework_environment(&task, &variables, &err), -1);
	assert_message_has(&err, "no rendezvous");
	cluster_destroy(cluster);
	job_destroy(job);
}

static void a_ring_with_a_gap_is_none(void **state)
{
	struct slots slots cleanup_slots = {0};
	struct job *job = fixture_job("horovod", "workers");
	struct cluster *cluster = fixture_cluster(job, "workers");
	struct err err cleanup_err = {0};

	mem_replace(&cluster->types[0].addresses[1].host, NULL);
	assert_int_equal(slots_build(job, cluster, &slots, &err), -1);
	assert_message_has(&err, "no address for worker:1");
	cluster_destroy(cluster);
	job_destroy(job);
}

static void a_sidecar_may_start_alone(void **state)
{
	struct environment variables cleanup_environment = {0};
	struct job *job = fixture_job("horovod", "roles");
	struct cluster *cluster = fixture_cluster(job, "roles");
	struct err err cleanup_err = {0};
	struct framework_task task;

	mem_replace(&cluster->types[1].addresses[1].host, NULL);
	fixture_task(job, cluster, "tensorboard", 0, &task);
	assert_success(framework_environment(&task, &variables, &err), &err);
	assert_null(environment_get(&variables, "CLUSTER_SPEC"));
	assert_null(environment_get(&variables, "HOROVOD_RANK"));
	cluster_destroy(cluster);
	job_destroy(job);
}

/* ---- what a driver tells ------------------------------------------------------------------ */

#define SLOT(host, rank, local)                                                                    \
	"{\"hostname\": \"" host "\", \"rank\": \"" rank "\", \"localRank\": " local               \
	", \"crossRank\": 0, \"size\": 3, \"localSize\": 2, \"crossSize\": 1}"

static void a_file_name_tells_the_port(void **state)
{
	assert_int_equal(horovod_plan_port("4711____HOROVOD_RENDEZVOUS_SERVER____"), 4711);
	assert_int_equal(horovod_plan_port("4711_____HOROVOD_RENDEZVOUS_SERVER____"), 4711);
	assert_int_equal(horovod_plan_port("4711___HOROVOD_RENDEZVOUS_SERVER____"), 0);
	assert_int_equal(horovod_plan_port("____HOROVOD_RENDEZVOUS_SERVER____"), 0);
	assert_int_equal(horovod_plan_port("65536____HOROVOD_RENDEZVOUS_SERVER____"), 0);
	assert_int_equal(horovod_plan_port("4711____HOROVOD_RENDEZVOUS_SERVER____.tmp"), 0);
	assert_int_equal(horovod_plan_port("driver.log"), 0);
	assert_int_equal(horovod_plan_port(""), 0);
}

static char *make(const char *slots)
{
	struct err err cleanup_err = {0};
	char *plan = horovod_plan_make(4711, "node-d", slots, strlen(slots), &err);

	if (!plan)
		fail_msg("%s", err_message(&err));
	return plan;
}

static void expect_slot(const char *plan, const char *host, const char *place, const char *rank)
{
	struct environment variables cleanup_environment = {0};
	struct err err cleanup_err = {0};

	environment_set(&variables, "HOROVOD_HOSTNAME", host);
	environment_set(&variables, "HOROVOD_LOCAL_RANK", place);
	environment_set(&variables, "CLUSTER_SPEC", "{\"sameHostTaskIndexList\":[0,1]}");
	assert_success(horovod_plan_apply(plan, strlen(plan), &variables, &err), &err);
	assert_string_equal(environment_get(&variables, "HOROVOD_RANK"), rank);
	assert_string_equal(environment_get(&variables, "HOROVOD_HOSTNAME"), host);
	assert_string_equal(environment_get(&variables, "HOROVOD_LOCAL_RANK"), place);
	assert_string_equal(environment_get(&variables, "HOROVOD_LOCAL_SIZE"), "2");
	assert_string_equal(environment_get(&variables, "HOROVOD_SIZE"), "3");
	assert_string_equal(environment_get(&variables, "HOROVOD_GLOO_RENDEZVOUS_ADDR"), "node-d");
	assert_string_equal(environment_get(&variables, "HOROVOD_GLOO_RENDEZVOUS_PORT"), "4711");
	assert_text_has(environment_get(&variables, "CLUSTER_SPEC"), "\"amHost\":\"node-d\"");
	assert_text_has(environment_get(&variables, "CLUSTER_SPEC"), "\"localRank\":1");
}

/* Whatever order it lists them in. */
static void a_process_takes_its_place_on_its_host(void **state)
{
	char *plan cleanup_free =
		make("[" SLOT("a", "7", "1") "," SLOT("b", "8", "0") "," SLOT("a", "9", "0") "]");

	expect_slot(plan, "a", "0", "9");
	expect_slot(plan, "a", "1", "7");
	expect_slot(plan, "b", "0", "8");
}

static void a_process_without_a_slot_is_told(void **state)
{
	struct environment variables cleanup_environment = {0};
	struct err err cleanup_err = {0};
	char *plan cleanup_free = make("[" SLOT("a", "0", "0") "]");

	assert_int_equal(horovod_plan_apply(plan, strlen(plan), &variables, &err), -1);
	assert_message_has(&err, "not set");
	err_finish(&err);
	environment_set(&variables, "HOROVOD_HOSTNAME", "a");
	environment_set(&variables, "HOROVOD_LOCAL_RANK", "1");
	assert_int_equal(horovod_plan_apply(plan, strlen(plan), &variables, &err), -1);
	assert_message_has(&err, "no slot for process 1 of host a");
}

static void what_is_no_plan_is_refused(void **state)
{
	static const struct {
		const char *text, *part;
	} rows[] = {
		{"", "line 1"},
		{"[" SLOT("a", "0", "0"), "line 1"},
		{"{}", "not a list of slots"},
		{"[]", "not a list of slots"},
		{"[{}]", "slot 0: hostname"},
		{"[" SLOT("a", "0", "0") ", 1]", "slot 1: hostname"},
		{"[" SLOT("a", "x", "0") "]", "slot 0: rank: \"x\" is not a whole number"},
		{"[" SLOT("a", "0", "-1") "]", "localRank"},
		{"[" SLOT("a", "0", "1.5") "]", "localRank"},
		{"[" SLOT("a", "0", "\"\"") "]", "localRank"},
	};

	for (size_t i = 0; i < array_length(rows); i++) {
		struct err err cleanup_err = {0};
		assert_null(horovod_plan_make(1, "h", rows[i].text, strlen(rows[i].text), &err));
		assert_message_has(&err, rows[i].part);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_works_is_taken),
		cmocka_unit_test(a_ring_needs_all_from_the_start),
		cmocka_unit_test(what_prepares_may_restart_in_its_place),
		cmocka_unit_test(a_driver_needs_its_mode),
		cmocka_unit_test(there_is_one_driver_with_a_command_of_its_own),
		cmocka_unit_test(a_single_node_is_no_driver),
		cmocka_unit_test(defaults_keep_the_driver_from_being_waited_for),
		cmocka_unit_test(a_driver_and_those_that_wait_for_it_run_below_the_agent),
		cmocka_unit_test(without_a_driver_commands_stay_as_they_are),
		cmocka_unit_test(elastic_rings_live_through_changes),
		cmocka_unit_test(all_that_may_come_fit_into_an_elastic_ring),
		cmocka_unit_test(a_member_asks_for_its_place),
		cmocka_unit_test(a_place_is_six_numbers),
		cmocka_unit_test(a_rendezvous_is_needed),
		cmocka_unit_test(a_ring_with_a_gap_is_none),
		cmocka_unit_test(a_sidecar_may_start_alone),
		cmocka_unit_test(a_file_name_tells_the_port),
		cmocka_unit_test(a_process_takes_its_place_on_its_host),
		cmocka_unit_test(a_process_without_a_slot_is_told),
		cmocka_unit_test(what_is_no_plan_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
