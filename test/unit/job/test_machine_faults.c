/* What the simulator found: one test per bug. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "machine_bed.h"

/* A canceled request can be answered after all, even when the job has ended since. */
static void a_container_that_comes_after_the_end_is_given_back(void **state)
{
	struct bed *bed = bed_create("worker=1");
	struct machine_event kill = {.kind = EVENT_KILL};

	bed_submit(bed);
	machine_handle(bed->machine, &kill, bed->now, &bed->actions);
	assert_int_equal(bed_status(bed).state, JOB_KILLED);
	assert_false(bed_allocate(bed, "worker:0"));
	assert_true(bed_acted(bed, ACTION_RELEASE, "worker:0"));
	bed_destroy(bed);
}

/* An executor that waits for a process to end does not beat meanwhile. */
static void a_long_grace_is_no_lost_executor(void **state)
{
	struct bed *bed = bed_create("worker=2");

	bed->job->retry_count = 1;
	bed->job->max_missed_heartbeats = 3;
	bed_type(bed, "worker")->stop_grace_ms = 20000;
	bed_submit(bed);
	bed_bring_up(bed, "worker");
	bed_exit(bed, "worker:0", 1);
	bed_register(bed, "worker:0");
	for (int i = 0; i < 10; i++) {
		bed_pass(bed, 2000);
		bed_beat(bed, "worker:0");
	}
	assert_int_equal(bed_look(bed, "worker:1")->state, TASK_STOPPING);
	assert_true(bed_register(bed, "worker:1"));
	assert_int_equal(bed_look(bed, "worker:1")->state, TASK_RUNNING);
	bed_destroy(bed);
}

/* ... but there is an end to it. */
static void an_executor_that_never_stops_is_lost(void **state)
{
	struct bed *bed = bed_create("worker=2");

	bed->job->retry_count = 1;
	bed->job->max_missed_heartbeats = 3;
	bed_type(bed, "worker")->stop_grace_ms = 20000;
	bed_submit(bed);
	bed_bring_up(bed, "worker");
	bed_exit(bed, "worker:0", 1);
	bed_pass(bed, 30000);
	assert_int_equal(bed_look(bed, "worker:1")->state, TASK_LOST);
	bed_destroy(bed);
}

/* However long it does: an executor whose beat waits to be read is given time to be heard of. */
static void nobody_is_lost_while_the_am_stands_still(void **state)
{
	for (int i = 0; i < 2000; i++) {
		struct bed *bed = bed_create("worker=1");
		bed->job->max_missed_heartbeats = 8;
		bed_submit(bed);
		bed_bring_up(bed, "worker");
		for (int beats = i % 10; beats > 0; beats--) {
			bed_pass(bed, 900);
			bed_beat(bed, "worker:0");
		}
		bed->now += 10 * i;
		bed_pass(bed, 1000);
		assert_int_equal(bed_look(bed, "worker:0")->state, TASK_RUNNING);
		bed_pass(bed, 10000);
		assert_int_not_equal(bed_look(bed, "worker:0")->state, TASK_RUNNING);
		bed_destroy(bed);
	}
}

/* The pause before a retry is no time in which containers could have come. */
static void a_back_off_does_not_use_up_the_allocation_timeout(void **state)
{
	struct bed *bed = bed_create("worker=2");
	struct machine_event tick = {.kind = EVENT_TICK};

	bed->job->retry_count = 5;
	bed->job->infrastructure_retry_count = 5;
	bed->job->retry_delay_ms = 10000;
	bed->job->allocation_timeout_ms = 15000;
	bed->job->max_missed_heartbeats = 1000;
	bed_submit(bed);
	for (int i = 0; i < 4; i++) { /* the pauses grow beyond the timeout */
		bed_bring_up(bed, "worker");
		bed_exit(bed, "worker:0", 0);
		bed_gone(bed, "worker:0");
		bed_exit(bed, "worker:1", 1);
		bed_register(bed, "worker:1");
		for (int k = 0; bed_look(bed, "worker:0")->state != TASK_REQUESTED; k++) {
			assert_in_range(k, 0, 1000);
			bed_pass(bed, 100);
		}
		bed_pass(bed, 10000);
		machine_handle(bed->machine, &tick, bed->now, &bed->actions);
		assert_int_equal(bed_look(bed, "worker:1")->state, TASK_REGISTERED);
		assert_int_equal(bed_look(bed, "worker:1")->attempt, 1);
	}
	assert_int_equal(bed_status(bed).infrastructure_retries_used, 0);
	bed_destroy(bed);
}

/* A group that ended long before the type began leaves it its whole time. */
static void a_group_timeout_counts_from_the_start_of_the_type(void **state)
{
	struct bed *bed = bed_create("chief=1 prepare=1 worker=1");
	struct job_group_timeout *timeout = mem_alloc(sizeof(*timeout));

	*timeout = (struct job_group_timeout){.type = 2,
					      .group = mem_strdup("leaders"),
					      .members = mem_alloc(sizeof(size_t)),
					      .member_count = 1,
					      .timeout_ms = 10000};
	bed->job->group_timeouts = timeout;
	bed->job->group_timeout_count = 1;
	bed->job->max_missed_heartbeats = 1000;
	bed_depend(bed, "worker", "prepare", false);
	bed_submit(bed);
	bed_bring_up(bed, "chief");
	bed_bring_up(bed, "prepare");
	bed_exit(bed, "chief:0", 0);
	bed_pass(bed, 60000);
	bed_exit(bed, "prepare:0", 0);
	bed_bring_up(bed, "worker");
	assert_int_equal(bed_look(bed, "worker:0")->state, TASK_RUNNING);
	bed_pass(bed, 9000);
	assert_int_equal(bed_status(bed).state, JOB_RUNNING);
	bed_pass(bed, 2000);
	assert_int_equal(bed_status(bed).state, JOB_FINISHING);
	assert_int_equal(bed_status(bed).cause->kind, CAUSE_GROUP_TIMEOUT);
	bed_destroy(bed);
}

/* What is announced to be taken back is stopped in good order and replaced; its user does not pay.
 */
/* promise: R4 */
static void a_preempted_task_is_stopped_and_replaced(void **state)
{
	struct bed *bed = bed_create("worker=2");
	struct machine_event notice = {.kind = EVENT_PREEMPTED, .attempt = 1};

	bed->job->infrastructure_retry_count = 1;
	bed_submit(bed);
	bed_bring_up(bed, "worker");
	notice.task = bed_task(bed, "worker:1");
	assert_true(machine_handle(bed->machine, &notice, bed->now, &bed->actions));
	assert_true(bed_acted(bed, ACTION_RELEASE, "worker:1"));
	assert_false(bed_acted(bed, ACTION_AVOID, "worker:1"));
	assert_int_equal(bed_look(bed, "worker:1")->cause.kind, CAUSE_PREEMPTED);
	assert_int_equal(bed_status(bed).retries_used, 0);
	assert_false(machine_handle(bed->machine, &notice, bed->now, &bed->actions));
	bed_gone(bed, "worker:1");
	bed_pass(bed, 60000);
	assert_int_equal(bed_look(bed, "worker:1")->attempt, 2);
	bed_destroy(bed);
}

static void preempt(struct bed *bed, const char *name)
{
	struct machine_event notice = {.kind = EVENT_PREEMPTED,
				       .task = bed_task(bed, name),
				       .attempt = bed_look(bed, name)->attempt};

	assert_true(machine_handle(bed->machine, &notice, bed->now, &bed->actions));
	bed_gone(bed, name);
}

/* However often, and without a single retry. */
/* promise: R4 */
static void preemptions_never_end_a_job(void **state)
{
	struct bed *bed = bed_create("worker=2");

	bed_submit(bed);
	bed_bring_up(bed, "worker");
	for (int i = 0; i < 100; i++) {
		preempt(bed, "worker:1");
		assert_int_equal(bed_status(bed).state, JOB_REFORMING);
		while (bed_look(bed, "worker:1")->state != TASK_REQUESTED)
			bed_pass(bed, 100);
		bed_come(bed, "worker:1");
		bed_register(bed, "worker:0");
		assert_int_equal(bed_status(bed).state, JOB_RUNNING);
		bed_start(bed, "worker:0");
		bed_start(bed, "worker:1");
	}
	assert_int_equal(bed_status(bed).infrastructure_retries_used, 0);
	assert_int_equal(bed_status(bed).retries_used, 0);
	bed_destroy(bed);
}

/* YARN counts sums, and not where the pieces are: what the gang holds may be just what the claimant
 * lacks, so that neither runs. */
/* promise: R4 */
static void a_preempted_gang_does_not_hold_idle_what_others_want(void **state)
{
	struct bed *bed = bed_create("worker=3 ps=1:untracked");

	bed_submit(bed);
	bed_bring_up(bed, "ps");
	bed_bring_up(bed, "worker");
	preempt(bed, "worker:2");
	bed_register(bed, "worker:0");
	bed_register(bed, "worker:1");
	bed_pass(bed, 15000); /* ps:0 has not stopped yet */
	assert_int_equal(bed_look(bed, "worker:0")->attempt, 1);
	assert_false(bed_acted(bed, ACTION_RELEASE, "worker:0"));
	bed_register(bed, "ps:0");
	while (!bed_acted(bed, ACTION_RELEASE, "worker:0"))
		bed_pass(bed, 100);
	assert_true(bed_acted(bed, ACTION_RELEASE, "worker:1"));
	assert_true(bed_acted(bed, ACTION_RELEASE, "ps:0"));
	assert_true(bed_acted(bed, ACTION_CANCEL, "worker:2"));
	bed_drain(bed);
	assert_false(bed_acted(bed, ACTION_REQUEST, "worker:0"));
	while (bed_look(bed, "worker:0")->state != TASK_REQUESTED)
		bed_pass(bed, 100);
	assert_true(bed_acted(bed, ACTION_REQUEST, "worker:2")); /* all of the gang together */
	assert_true(bed_acted(bed, ACTION_REQUEST, "ps:0"));
	bed_come(bed, "ps:0");
	bed_pass(bed, 15000); /* that is its scheduler's to give back */
	assert_int_equal(bed_look(bed, "ps:0")->state, TASK_REGISTERED);
	bed_come(bed, "worker:0");
	bed_come(bed, "worker:1");
	bed_come(bed, "worker:2");
	assert_int_equal(bed_status(bed).state, JOB_RUNNING);
	assert_int_equal(bed_status(bed).infrastructure_retries_used, 0);
	bed_destroy(bed);
}

static void a_gang_whose_container_was_lost_keeps_the_others(void **state)
{
	struct bed *bed = bed_create("worker=2");

	bed->job->infrastructure_retry_count = 1;
	bed_submit(bed);
	bed_bring_up(bed, "worker");
	bed_lose(bed, "worker:1", CAUSE_NODE_LOST);
	bed_register(bed, "worker:0");
	for (int i = 0; i < 60; i++) {
		bed_beat(bed, "worker:0");
		bed_pass(bed, 1000);
	}
	assert_int_equal(bed_look(bed, "worker:0")->state, TASK_REGISTERED);
	assert_int_equal(bed_look(bed, "worker:0")->attempt, 1);
	bed_destroy(bed);
}

/* promise: R15 */
static void a_machine_where_a_launch_failed_is_avoided(void **state)
{
	struct bed *bed = bed_create("worker=2");

	bed->job->infrastructure_retry_count = 1;
	bed_submit(bed);
	bed_allocate(bed, "worker:0");
	bed_lose(bed, "worker:0", CAUSE_LAUNCH_FAILED);
	assert_true(bed_acted(bed, ACTION_AVOID, "worker:0"));
	bed_destroy(bed);
}

/* What failed for good gave its container back: it takes part again in another one. */
static void a_failure_that_was_lived_with_takes_part_again(void **state)
{
	struct bed *bed = bed_create("worker=2");

	bed->job->infrastructure_retry_count = 1;
	bed_submit(bed);
	bed_bring_up(bed, "worker");
	bed_exit(bed, "worker:1", 1);
	assert_true(bed_acted(bed, ACTION_RELEASE, "worker:1"));
	bed_lose(bed, "worker:0", CAUSE_NODE_LOST);
	assert_int_equal(bed_status(bed).state, JOB_REFORMING);
	assert_int_equal(bed_look(bed, "worker:1")->state, TASK_FAILED);
	assert_int_equal(machine_order(bed->machine, bed_task(bed, "worker:1")).kind, ORDER_QUIT);
	bed_gone(bed, "worker:1");
	bed_pass(bed, 1000);
	bed_bring_up(bed, "worker");
	assert_int_equal(bed_status(bed).state, JOB_RUNNING);
	assert_int_equal(bed_look(bed, "worker:1")->attempt, 2);
	bed_destroy(bed);
}

/* A sidecar that others wait for is no matter of its own. */
static void an_awaited_sidecar_that_fails_is_run_again(void **state)
{
	struct bed *bed = bed_create("board=1:sidecar worker=1");

	bed->job->retry_count = 1;
	bed_depend(bed, "worker", "board", true);
	bed_submit(bed);
	bed_allocate(bed, "board:0");
	bed_register(bed, "board:0");
	bed_exit(bed, "board:0", 1);
	assert_int_equal(bed_status(bed).state, JOB_REFORMING);
	bed_register(bed, "board:0");
	bed_start(bed, "board:0");
	bed_bring_up(bed, "worker");
	assert_int_equal(bed_status(bed).state, JOB_RUNNING);
	assert_int_equal(bed_look(bed, "worker:0")->state, TASK_RUNNING);
	bed_destroy(bed);
}

/* The job says for what it re-forms, until it has. */
static void what_a_job_re_forms_for_is_told_meanwhile(void **state)
{
	struct bed *bed = bed_create("worker=2");

	bed->job->retry_count = 1;
	bed_submit(bed);
	bed_bring_up(bed, "worker");
	bed_exit(bed, "worker:1", 3);
	assert_int_equal(bed_status(bed).state, JOB_REFORMING);
	assert_int_equal(bed_status(bed).cause->exit_code, 3);
	assert_int_equal(bed_status(bed).cause_task, bed_task(bed, "worker:1"));
	bed_lose(bed, "worker:0", CAUSE_NODE_LOST);
	assert_int_equal(bed_status(bed).cause->exit_code, 3);
	bed_register(bed, "worker:1");
	bed_bring_up(bed, "worker");
	assert_int_equal(bed_status(bed).state, JOB_RUNNING);
	assert_int_equal(bed_status(bed).cause->kind, CAUSE_NONE);
	assert_int_equal(bed_status(bed).cause_task, -1);
	bed_destroy(bed);
}

/* ... but what ends it then is another failure. */
static void a_failure_while_a_job_re_forms_is_the_one_that_ended_it(void **state)
{
	struct bed *bed = bed_create("worker=2");

	bed->job->retry_count = 1;
	bed->job->infrastructure_retry_count = 0;
	bed_submit(bed);
	bed_bring_up(bed, "worker");
	bed_exit(bed, "worker:1", 3);
	bed_register(bed, "worker:1");
	bed_lose(bed, "worker:1", CAUSE_NODE_LOST);
	assert_int_equal(bed_status(bed).state, JOB_FINISHING);
	assert_int_equal(bed_status(bed).cause->kind, CAUSE_NODE_LOST);
	bed_destroy(bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_preempted_task_is_stopped_and_replaced),
		cmocka_unit_test(preemptions_never_end_a_job),
		cmocka_unit_test(a_preempted_gang_does_not_hold_idle_what_others_want),
		cmocka_unit_test(a_gang_whose_container_was_lost_keeps_the_others),
		cmocka_unit_test(a_machine_where_a_launch_failed_is_avoided),
		cmocka_unit_test(a_container_that_comes_after_the_end_is_given_back),
		cmocka_unit_test(a_long_grace_is_no_lost_executor),
		cmocka_unit_test(an_executor_that_never_stops_is_lost),
		cmocka_unit_test(nobody_is_lost_while_the_am_stands_still),
		cmocka_unit_test(a_back_off_does_not_use_up_the_allocation_timeout),
		cmocka_unit_test(a_group_timeout_counts_from_the_start_of_the_type),
		cmocka_unit_test(a_failure_that_was_lived_with_takes_part_again),
		cmocka_unit_test(an_awaited_sidecar_that_fails_is_run_again),
		cmocka_unit_test(what_a_job_re_forms_for_is_told_meanwhile),
		cmocka_unit_test(a_failure_while_a_job_re_forms_is_the_one_that_ended_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
