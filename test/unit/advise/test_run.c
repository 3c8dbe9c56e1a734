/* What the job's record tells: waits, failures, retries, time-outs, steps that were made twice. */
#include "scene.h"

#include <string.h>

#include "base/mem.h"

/* ---- one that is slower ------------------------------------------------------------------- */

static void steps_per_second(struct scene *scene, const double *rates)
{
	for (size_t i = 0; i < scene->view->task_count; i++) {
		char *name cleanup_free = mem_printf("worker:%zu", i);
		struct advise_use *use = scene_use(scene, name);
		scene_steps(use, MINUTE, 30 * MINUTE, 0, rates[i]);
		use->average_cores = rates[i];
	}
}

static void a_slow_task_is_named_with_its_node(void **state)
{
	struct scene scene = scene_begin("worker=4");

	scene_run(&scene, HOUR);
	steps_per_second(&scene, (double[]){10, 10.5, 4, 9.8});
	const struct advice *advice = scene_advice(&scene, "straggler");
	assert_string_equal(advice->title, "worker:2 on node-2 is slower than the others");
	assert_evidence(advice, "4.00 steps per second, the others 10.00");
	assert_evidence(advice, "4.0 cores on average, the others 10.0");
	scene_finish(&scene);
}

static void a_task_that_nobody_wants_is_not_looked_at(void **state)
{
	struct scene scene = scene_begin("worker=5");

	scene_run(&scene, HOUR);
	steps_per_second(&scene, (double[]){10, 10.5, 4, 9.8, 0});
	scene_silence(&scene, "straggler");
	scene.view->tasks[4].dormant = true;
	scene_advice(&scene, "straggler");
	scene_finish(&scene);
}

static void tasks_that_all_differ_have_no_straggler(void **state)
{
	struct scene scene = scene_begin("worker=4");

	scene_run(&scene, HOUR);
	steps_per_second(&scene, (double[]){10, 6, 4, 9.8});
	scene_silence(&scene, "straggler");
	scene_finish(&scene);

	scene = scene_begin("worker=4");
	scene_run(&scene, HOUR);
	steps_per_second(&scene, (double[]){10, 9.5, 9, 9.8});
	scene_silence(&scene, "straggler");
	scene_finish(&scene);

	scene = scene_begin("worker=2"); /* which of two is the odd one? */
	scene_run(&scene, HOUR);
	steps_per_second(&scene, (double[]){10, 4});
	scene_silence(&scene, "straggler");
	scene_finish(&scene);
}

static void a_tenth_of_many_are_named(void **state)
{
	struct scene scene = scene_begin("worker=60");
	double rates[60];

	for (size_t i = 0; i < array_length(rates); i++)
		rates[i] = i < 6 ? 4 + (double)i / 10 : 10;
	scene_run(&scene, HOUR);
	steps_per_second(&scene, rates);
	const struct advice *advice = scene_advice(&scene, "straggler");
	assert_string_equal(advice->title, "worker:0 on node-0 is slower than the others");
	assert_evidence(advice, "so are worker:1 on node-1, worker:2 on node-2, "
				"worker:3 on node-3, 2 more");
	rates[6] = 5; /* nothing special any more */
	steps_per_second(&scene, rates);
	scene_silence(&scene, "straggler");
	scene_finish(&scene);
}

static void a_task_that_ends_late_is_named(void **state)
{
	struct scene scene = scene_begin("worker=4");

	scene_end(&scene, JOB_SUCCEEDED, HOUR);
	for (int i = 0; i < 3; i++)
		scene.view->tasks[i].ended_ms -= 30 * MINUTE;
	const struct advice *advice = scene_advice(&scene, "straggler");
	assert_evidence(advice, "it took 1 h 00 m, the others 30 m 00 s");
	assert_non_null(strstr(advice->title, "worker:3"));
	scene.view->tasks[2].ended_ms += 25 * MINUTE;
	scene_silence(&scene, "straggler");
	scene_finish(&scene);
}

/* ---- the beginning ------------------------------------------------------------------------ */

static void a_long_wait_for_containers_is_told(void **state)
{
	struct scene scene = scene_begin("worker=2 ps=1");

	scene_end(&scene, JOB_SUCCEEDED, HOUR);
	struct attempt_view *late = &scene_task(&scene, "ps:0")->attempts[0];
	late->allocated_ms = BEGIN + 40 * MINUTE;
	const struct advice *advice = scene_advice(&scene, "gang-wait");
	assert_string_equal(advice->types.items[0], "ps");
	assert_evidence(advice, "waited 39 m 59 s for the last container, of type ps");
	assert_evidence(advice, "idle for 2 m 30 s in all");
	late->allocated_ms = BEGIN + 8 * MINUTE;
	scene_silence(&scene, "gang-wait");
	scene_finish(&scene);

	scene = scene_begin("worker=2"); /* ten minutes of a day are no matter */
	scene_end(&scene, JOB_SUCCEEDED, 24 * HOUR);
	scene_task(&scene, "worker:0")->attempts[0].allocated_ms = BEGIN + 11 * MINUTE;
	scene_silence(&scene, "gang-wait");
	scene_finish(&scene);
}

static void containers_that_come_up_slowly_are_told(void **state)
{
	struct scene scene = scene_begin("worker=3");

	scene_end(&scene, JOB_SUCCEEDED, 10 * MINUTE);
	for (size_t i = 0; i < 2; i++)
		scene.view->tasks[i].attempts[0].registered_ms = BEGIN + 5 * MINUTE;
	assert_evidence(scene_advice(&scene, "slow-launch"), "4 m 58 s in the median of 3");
	/* One of three is slow: that is its node. */
	scene.view->tasks[0].attempts[0].registered_ms = BEGIN + 10 * SECOND;
	scene_silence(&scene, "slow-launch");
	scene_finish(&scene);
}

static void a_program_that_begins_slowly_is_told(void **state)
{
	struct scene scene = scene_begin("worker=1");

	scene_end(&scene, JOB_SUCCEEDED, HOUR);
	struct advise_use *use = scene_use(&scene, "worker:0");
	scene_steps(use, 21 * MINUTE, HOUR, 0, 10);
	assert_evidence(scene_advice(&scene, "slow-start"), "20 m 00 s in the median of 1");
	use->stretches[0].first_ms = BEGIN + 2 * MINUTE;
	scene_silence(&scene, "slow-start");
	scene_finish(&scene);
}

/* ---- limits ------------------------------------------------------------------------------- */

static void executors_that_were_nearly_given_up_get_more_time(void **state)
{
	struct scene scene = scene_begin("worker=4");

	scene.job->max_missed_heartbeats = 10;
	scene_run(&scene, HOUR);
	scene_use(&scene, "worker:0")->longest_silence_ms = 8 * SECOND;
	scene_use(&scene, "worker:1")->longest_silence_ms = 4 * SECOND;
	scene_silence(&scene, "heartbeat-timeout-short"); /* one node was busy */
	struct advise_use *use = scene_use(&scene, "worker:2");
	use->longest_silence_ms = 5 * SECOND;
	use->late_beats = 3;
	const struct advice *advice = scene_advice(&scene, "heartbeat-timeout-short");
	assert_setting(advice, "tony.task.max-missed-heartbeats", "10", "25");
	assert_evidence(advice,
			"heard of again: 2 tasks; the longest: 8.0 s; late heartbeats of all "
			"tasks: 3");
	scene.job->max_missed_heartbeats = 25;
	scene_silence(&scene, "heartbeat-timeout-short");
	scene_finish(&scene);
}

static void executors_given_up_too_soon_get_more_time(void **state)
{
	struct scene scene = scene_begin("worker=4");

	scene.job->max_missed_heartbeats = 5;
	scene_failure(&scene, "worker:0", CAUSE_EXECUTOR_LOST, MINUTE, 5 * MINUTE);
	scene_run(&scene, HOUR);
	scene_silence(&scene, "heartbeat-timeout-short"); /* one node may have died */
	scene_failure(&scene, "worker:1", CAUSE_EXECUTOR_LOST, MINUTE, 9 * MINUTE);
	const struct advice *advice = scene_advice(&scene, "heartbeat-timeout-short");
	assert_setting(advice, "tony.task.max-missed-heartbeats", "5", "25");
	assert_evidence(advice, "lost: 2 executors, on 2 nodes");
	scene.job->max_missed_heartbeats = 25;
	scene_silence(&scene, "heartbeat-timeout-short");
	scene_silence(&scene, "heartbeat-timeout-long");
	scene_finish(&scene);
}

static void executors_given_up_too_late_get_less(void **state)
{
	struct scene scene = scene_begin("worker=4");

	scene.job->heartbeat_interval_ms = 30000;
	scene_run(&scene, HOUR);
	scene_silence(&scene, "heartbeat-timeout-long"); /* nobody had to wait */
	scene_failure(&scene, "worker:0", CAUSE_EXECUTOR_LOST, MINUTE, 5 * MINUTE);
	const struct advice *advice = scene_advice(&scene, "heartbeat-timeout-long");
	assert_setting(advice, "tony.task.heartbeat-interval-ms", "30000", "1000");
	assert_setting(advice, "tony.task.max-missed-heartbeats", "25", "25");
	assert_evidence(advice, "noticed after 12 m 30 s");
	scene_finish(&scene);
}

static void many_executors_beat_less_often(void **state)
{
	struct scene scene = scene_begin("worker=12000");

	scene_silence(&scene, "heartbeat-timeout-long");
	assert_setting(scene_advice(&scene, "heartbeat-often"), "tony.task.heartbeat-interval-ms",
		       "1000", "3000");
	scene_finish(&scene);

	scene = scene_begin("worker=1000");
	scene_silence(&scene, "heartbeat-often");
	scene_finish(&scene);
}

static void slow_registrations_get_more_time(void **state)
{
	struct scene scene = scene_begin("worker=3");

	scene_failure(&scene, "worker:0", CAUSE_REGISTRATION_TIMEOUT, 0, 15 * MINUTE);
	scene_run(&scene, HOUR);
	scene_silence(&scene, "registration-timeout-short");
	scene_task(&scene, "worker:1")->attempts[0].registered_ms = BEGIN + 12 * MINUTE;
	assert_setting(scene_advice(&scene, "registration-timeout-short"),
		       "tony.container.registration.timeout", "15m", "45m");
	scene_silence(&scene, "registration-timeout-long");
	scene_finish(&scene);
}

static void lost_registrations_are_waited_for_less(void **state)
{
	struct scene scene = scene_begin("worker=3");

	scene_run(&scene, HOUR);
	scene_silence(&scene, "registration-timeout-long");
	scene_failure(&scene, "worker:0", CAUSE_REGISTRATION_TIMEOUT, 0, 15 * MINUTE);
	const struct advice *advice = scene_advice(&scene, "registration-timeout-long");
	assert_setting(advice, "tony.container.registration.timeout", "15m", "1m");
	assert_evidence(advice, "the longest that any other took: 8.0 s");
	scene_finish(&scene);
}

static void a_limit_that_runs_need_is_raised(void **state)
{
	struct scene scene = scene_begin("worker=1");

	scene.job->application_timeout_ms = HOUR;
	scene_end(&scene, JOB_FAILED, HOUR);
	scene.view->cause.kind = CAUSE_APPLICATION_TIMEOUT;
	scene_silence(&scene, "time-limit"); /* it may have hung */
	scene_past(&scene, 1000, 100, 10 * MINUTE);
	scene_silence(&scene, "time-limit");
	scene_past(&scene, 1000, 100, 58 * MINUTE);
	const struct advice *advice = scene_advice(&scene, "time-limit");
	assert_setting(advice, "tony.application.timeout", "1h", "116m");
	assert_evidence(advice, "past run of this name that succeeded: 58 m 00 s");
	scene.view->cause.kind = CAUSE_EXECUTION_TIMEOUT;
	scene.job->execution_timeout_ms = HOUR;
	assert_setting(scene_advice(&scene, "time-limit"),
		       "tony.task.executor.execution-timeout-ms", "1h", "116m");
	scene.view->cause.kind = CAUSE_EXIT;
	scene_silence(&scene, "time-limit");
	scene_finish(&scene);
}

/* ---- retries ------------------------------------------------------------------------------ */

static void fail_as(struct scene *scene, const char *headline, int64_t from_ms, int64_t ran_ms)
{
	struct attempt_view *attempt =
		scene_failure(scene, "worker:1", CAUSE_EXIT, from_ms, from_ms + ran_ms);

	attempt->cause.text = mem_strdup("exited with code 1");
	attempt->cause.headline = mem_strdup(headline);
}

static void the_same_failure_is_not_worth_a_retry(void **state)
{
	struct scene scene = scene_begin("worker=2");

	scene.job->retry_count = 5;
	scene.view->retries = 2;
	scene.view->state = JOB_FAILED;
	fail_as(&scene, "ValueError: no data in /tmp/x17", MINUTE, 3 * SECOND);
	fail_as(&scene, "ValueError: no data in /tmp/x4", 2 * MINUTE, 4 * SECOND);
	scene_silence(&scene, "retries-useless"); /* twice may be chance */
	fail_as(&scene, "ValueError: no data in /tmp/x291", 3 * MINUTE, 3 * SECOND);
	const struct advice *advice = scene_advice(&scene, "retries-useless");
	assert_int_equal(advice->severity, ADVICE_CRITICAL);
	assert_setting(advice, "tony.am.retry-count", "5", "0");
	assert_int_equal(advice->setting_count, 1);
	assert_evidence(advice, "3 failures in a row, the last of worker:1, are the same: exited "
				"with code 1: ValueError: no data in /tmp/x291");
	assert_non_null(strstr(advice->remedy, "--task worker:1"));
	scene_task(&scene, "worker:1")->restarts_used = 2;
	scene.job->types[0].max_restarts = 4;
	assert_setting(scene_advice(&scene, "retries-useless"), "tony.worker.max-restarts", "4",
		       "0");
	scene.view->state = JOB_SUCCEEDED;
	scene_silence(&scene, "retries-useless");
	scene_finish(&scene);
}

static void a_program_that_got_past_its_failure_is_left_alone(void **state)
{
	struct scene scene = scene_begin("worker=2");

	for (int i = 1; i <= 3; i++)
		fail_as(&scene, "ValueError: no data", i * SECOND, SECOND);
	scene_run(&scene, 30 * SECOND);
	scene_advice(&scene, "retries-useless");
	scene.input.now_ms += MINUTE;
	scene_silence(&scene, "retries-useless");
	scene_finish(&scene);
}

/* Who falls because of another one is no failure of its own. */
static void the_fall_of_others_does_not_hide_it(void **state)
{
	struct scene scene = scene_begin("worker=2");

	scene.view->retries = 2;
	for (int i = 1; i <= 3; i++) {
		fail_as(&scene, "ValueError: no data", i * MINUTE, 3 * SECOND);
		scene_failure(&scene, "worker:0", CAUSE_EXIT, i * MINUTE, i * MINUTE + 5 * SECOND);
	}
	scene_advice(&scene, "retries-useless");
	scene_finish(&scene);
}

static void failures_that_differ_are_worth_retries(void **state)
{
	struct scene scene = scene_begin("worker=2");

	scene.view->retries = 2;
	fail_as(&scene, "ValueError: no data", MINUTE, 3 * SECOND);
	fail_as(&scene, "ConnectionResetError", 2 * MINUTE, 3 * SECOND);
	fail_as(&scene, "ValueError: no data", 3 * MINUTE, 3 * SECOND);
	scene_silence(&scene, "retries-useless");
	scene_finish(&scene);

	scene = scene_begin("worker=2"); /* it gets on */
	scene.view->retries = 2;
	fail_as(&scene, "ValueError: no data", MINUTE, 10 * MINUTE);
	fail_as(&scene, "ValueError: no data", 15 * MINUTE, 40 * MINUTE);
	fail_as(&scene, "ValueError: no data", HOUR, 3 * HOUR);
	scene_silence(&scene, "retries-useless");
	scene_finish(&scene);

	scene = scene_begin("worker=2"); /* its steps do */
	scene.view->retries = 2;
	for (int i = 1; i <= 3; i++) {
		fail_as(&scene, "ValueError: no data", i * HOUR, 30 * MINUTE);
		scene_steps(scene_use(&scene, "worker:1"), i * HOUR, i * HOUR + 20 * MINUTE,
			    1000 * i, 1);
	}
	scene_silence(&scene, "retries-useless");
	scene_finish(&scene);

	scene = scene_begin("worker=2"); /* the cluster's doing */
	for (int i = 1; i <= 3; i++)
		scene_failure(&scene, "worker:1", CAUSE_PREEMPTED, i * MINUTE,
			      i * MINUTE + 3 * SECOND);
	scene_silence(&scene, "retries-useless");
	scene_finish(&scene);
}

static void on_node(struct attempt_view *attempt, const char *host)
{
	mem_replace(&attempt->host, mem_strdup(host));
}

static void a_node_that_fails_everything_is_named(void **state)
{
	struct scene scene = scene_begin("worker=4");

	for (int i = 0; i < 3; i++) {
		char *name cleanup_free = mem_printf("worker:%d", i);
		on_node(scene_failure(&scene, name, CAUSE_LAUNCH_FAILED, (i + 1) * MINUTE,
				      (i + 2) * MINUTE),
			"node-9");
	}
	scene_run(&scene, HOUR);
	const struct advice *advice = scene_advice(&scene, "bad-node");
	assert_string_equal(advice->title, "node-9 fails what runs on it");
	assert_evidence(advice, "3 of 3 failures were there");
	assert_evidence(advice, "3 of 7 programs ran there");
	scene_finish(&scene);
}

static void a_task_that_fails_everywhere_blames_no_node(void **state)
{
	struct scene scene = scene_begin("worker=4");

	for (int i = 1; i <= 3; i++)
		on_node(scene_failure(&scene, "worker:0", CAUSE_EXIT, i * MINUTE, (i + 1) * MINUTE),
			"node-9");
	scene_run(&scene, HOUR);
	scene_silence(&scene, "bad-node");
	scene_finish(&scene);

	scene = scene_begin("worker=4"); /* each somewhere else */
	for (int i = 0; i < 4; i++) {
		char *name cleanup_free = mem_printf("worker:%d", i);
		scene_failure(&scene, name, CAUSE_EXIT, (i + 1) * MINUTE, (i + 2) * MINUTE);
	}
	scene_run(&scene, HOUR);
	scene_silence(&scene, "bad-node");
	scene_finish(&scene);
}

static void preemption_is_told(void **state)
{
	struct scene scene = scene_begin("worker=4");

	scene.job->queue = mem_strdup("adhoc");
	for (int i = 1; i <= 3; i++) {
		if (i == 3)
			scene_silence(&scene, "preempted");
		scene_failure(&scene, "worker:0", CAUSE_PREEMPTED, i * MINUTE, (i + 1) * MINUTE);
	}
	const struct advice *advice = scene_advice(&scene, "preempted");
	assert_evidence(advice, "preempted: 3 times");
	assert_non_null(strstr(advice->remedy, "adhoc"));
	scene_finish(&scene);
}

static void a_store_that_takes_nothing_is_told_while_it_lasts(void **state)
{
	struct scene scene = scene_begin("worker=5");

	scene_run(&scene, HOUR);
	for (size_t i = 0; i < scene.view->task_count; i++) {
		struct task_view *task = &scene.view->tasks[i];
		task->checkpoint_trouble = mem_strdup("its checkpoints: no room");
		task->checkpoint_trouble_since_ms = scene.input.now_ms - MINUTE + 1;
	}
	scene_silence(&scene, "store-trouble");
	for (size_t i = 0; i < scene.view->task_count; i++)
		scene.view->tasks[i].checkpoint_trouble_since_ms -= 10 * MINUTE;
	const struct advice *advice = scene_advice(&scene, "store-trouble");
	assert_evidence(advice, "worker:0, for 10 m 59 s: its checkpoints: no room");
	assert_evidence(advice, "5 tasks in all");
	assert_int_equal(advice->evidence.count, 4);
	assert_int_equal(advice->types.count, 1);
	scene_end(&scene, JOB_SUCCEEDED, HOUR);
	scene_silence(&scene, "store-trouble");
	scene_finish(&scene);

	scene = scene_begin("worker=1");
	scene_run(&scene, HOUR);
	scene.view->store_trouble = mem_strdup("the journal: no room");
	scene.view->store_trouble_since_ms = scene.input.now_ms - MINUTE;
	assert_evidence(scene_advice(&scene, "store-trouble"),
			"the application master, for 1 m 00 s: the journal: no room");
	scene_finish(&scene);
}

static void retries_that_run_out_are_told(void **state)
{
	struct scene scene = scene_begin("worker=4");

	scene.view->infrastructure_retries = 6;
	scene_silence(&scene, "retries-short");
	scene.view->infrastructure_retries = 8;
	assert_setting(scene_advice(&scene, "retries-short"), "tony.am.infrastructure-retry-count",
		       "10", "24");
	scene_finish(&scene);
}

static void more_retries_are_no_remedy_for_the_same_failure_each_time(void **state)
{
	struct scene scene = scene_begin("worker=2");
	const char *names[] = {"worker:0", "worker:1", "worker:0", "worker:0"};

	scene.view->infrastructure_retries = 8;
	for (size_t i = 0; i < array_length(names); i++)
		scene_failure(&scene, names[i], CAUSE_LAUNCH_FAILED, (int64_t)i * MINUTE,
			      (int64_t)i * MINUTE + SECOND)
			->cause.text = mem_strdup("could not be started by its node: no");
	const struct advice *advice = scene_advice(&scene, "retries-short");
	assert_non_null(strstr(advice->title, "more retries do not help"));
	assert_evidence(advice, "4 failures in a row are alike, the last of worker:0: could not be "
				"started by its node: no");
	assert_int_equal(advice->setting_count, 0);
	scene_finish(&scene);

	scene = scene_begin("worker=2");
	scene.view->infrastructure_retries = 8;
	for (size_t i = 0; i < array_length(names); i++)
		scene_failure(&scene, names[i], CAUSE_NODE_LOST, (int64_t)i * MINUTE,
			      (int64_t)i * MINUTE + SECOND);
	assert_setting(scene_advice(&scene, "retries-short"), "tony.am.infrastructure-retry-count",
		       "10", "24");
	scene_finish(&scene);
}

static void a_thief_of_ports_is_named(void **state)
{
	struct scene scene = scene_begin("worker=2");

	scene_silence(&scene, "port-thief");
	scene_failure(&scene, "worker:0", CAUSE_PORT_STOLEN, 0, 1000)->cause.text =
		mem_strdup("ended: port 7 was taken by uid 1002");
	const struct advice *advice = scene_advice(&scene, "port-thief");
	assert_non_null(strstr(advice->evidence.items[0], "port 7 was taken by uid 1002"));
	assert_non_null(strstr(advice->remedy, "tony.worker.strict-port=true"));
	scene_silence(&scene, "retries-short");
	scene_finish(&scene);
}

/* ---- checkpoints -------------------------------------------------------------------------- */

/* Three programs of an hour, each of which goes on `back` steps before the end of the one before.
 */
static struct scene with_restarts(int64_t back)
{
	struct scene scene = scene_begin("worker=1");
	int64_t step = 0;

	scene_run(&scene, 4 * HOUR);
	struct advise_use *use = scene_use(&scene, "worker:0");
	for (int i = 0; i < 3; i++) {
		scene_steps(use, i * HOUR, (i + 1) * HOUR, step, 1);
		step = step + 3600 > back ? step + 3600 - back : 0;
	}
	return scene;
}

static void a_program_that_begins_anew_is_told(void **state)
{
	struct scene scene = with_restarts(1000000);

	assert_evidence(scene_advice(&scene, "no-checkpoint"),
			"worker:0 made 2 h 00 m of its 3 h 00 m of steps twice, after 2 restarts");
	scene_silence(&scene, "checkpoint-interval");
	scene_finish(&scene);
}

static void checkpoints_too_far_apart_are_told(void **state)
{
	struct scene scene = with_restarts(1200);
	const struct advice *advice = scene_advice(&scene, "checkpoint-interval");

	assert_evidence(advice, "made 40 m 00 s of its 3 h 00 m of steps twice");
	assert_evidence(advice, "about 40 m 00 s apart, failures 1 h 30 m");
	/* sqrt(2 * 30 s * 5400 s) */
	assert_non_null(strstr(advice->remedy, "9 m 29 s"));
	assert_non_null(strstr(advice->remedy, "569 steps"));
	scene_silence(&scene, "no-checkpoint");
	scene_finish(&scene);
}

static void good_checkpoints_are_left_alone(void **state)
{
	struct scene scene = with_restarts(60);

	scene_silence(&scene, "checkpoint-interval");
	scene_silence(&scene, "no-checkpoint");
	scene_finish(&scene);

	scene = scene_begin("worker=1"); /* it failed once: that tells no rate */
	scene_run(&scene, 4 * HOUR);
	struct advise_use *use = scene_use(&scene, "worker:0");
	scene_steps(use, 0, HOUR, 0, 1);
	scene_steps(use, HOUR, 3 * HOUR, 0, 1);
	scene_silence(&scene, "no-checkpoint");
	scene_finish(&scene);
}

/* ------------------------------------------------------------------------------------------- */

static void a_job_that_goes_well_gets_no_advice(void **state)
{
	struct scene scene = scene_begin("worker=4 ps=1");

	scene_end(&scene, JOB_SUCCEEDED, 3 * HOUR);
	scene_uses(&scene, "worker", 3.5, 3200);
	scene_uses(&scene, "ps", 2, 3100);
	scene_silence(&scene, "any");
	assert_int_equal(scene.list.count, 0);
	scene_finish(&scene);

	scene = scene_begin("worker=1"); /* nothing has happened */
	scene_silence(&scene, "any");
	assert_int_equal(scene.list.count, 0);
	scene_finish(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slow_task_is_named_with_its_node),
		cmocka_unit_test(a_task_that_nobody_wants_is_not_looked_at),
		cmocka_unit_test(tasks_that_all_differ_have_no_straggler),
		cmocka_unit_test(a_tenth_of_many_are_named),
		cmocka_unit_test(a_task_that_ends_late_is_named),
		cmocka_unit_test(a_long_wait_for_containers_is_told),
		cmocka_unit_test(containers_that_come_up_slowly_are_told),
		cmocka_unit_test(a_program_that_begins_slowly_is_told),
		cmocka_unit_test(executors_that_were_nearly_given_up_get_more_time),
		cmocka_unit_test(executors_given_up_too_soon_get_more_time),
		cmocka_unit_test(executors_given_up_too_late_get_less),
		cmocka_unit_test(many_executors_beat_less_often),
		cmocka_unit_test(slow_registrations_get_more_time),
		cmocka_unit_test(lost_registrations_are_waited_for_less),
		cmocka_unit_test(a_limit_that_runs_need_is_raised),
		cmocka_unit_test(the_same_failure_is_not_worth_a_retry),
		cmocka_unit_test(a_program_that_got_past_its_failure_is_left_alone),
		cmocka_unit_test(the_fall_of_others_does_not_hide_it),
		cmocka_unit_test(failures_that_differ_are_worth_retries),
		cmocka_unit_test(a_node_that_fails_everything_is_named),
		cmocka_unit_test(a_task_that_fails_everywhere_blames_no_node),
		cmocka_unit_test(preemption_is_told),
		cmocka_unit_test(a_store_that_takes_nothing_is_told_while_it_lasts),
		cmocka_unit_test(retries_that_run_out_are_told),
		cmocka_unit_test(more_retries_are_no_remedy_for_the_same_failure_each_time),
		cmocka_unit_test(a_thief_of_ports_is_named),
		cmocka_unit_test(a_program_that_begins_anew_is_told),
		cmocka_unit_test(checkpoints_too_far_apart_are_told),
		cmocka_unit_test(good_checkpoints_are_left_alone),
		cmocka_unit_test(a_job_that_goes_well_gets_no_advice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
