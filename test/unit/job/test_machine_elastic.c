/* Types that may have fewer or more tasks, one promise per test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "machine_bed.h"

#define FIRST_PAUSE_MAX_MS 1250

#define assert_task(bed, name, expected) assert_int_equal(bed_look(bed, name)->state, expected)
#define assert_job(bed, expected)	 assert_int_equal(bed_status(bed).state, expected)
#define assert_epoch(bed, expected)	 assert_int_equal(bed_status(bed).epoch, expected)

static const char *const workers[] = {"worker:0", "worker:1", "worker:2", "worker:3"};

static struct bed *running(const char *types)
{
	struct bed *bed = bed_create_elastic(types);
	bed_submit(bed);
	for (size_t i = 0; i < bed->job->type_count; i++)
		bed_bring_up(bed, bed->job->types[i].name);
	assert_job(bed, JOB_RUNNING);
	assert_epoch(bed, 1);
	return bed;
}

static void come(struct bed *bed, const char *name)
{
	assert_true(bed_come(bed, name));
}

/* The survivors of a formation obey. */
static void register_stopping(struct bed *bed)
{
	for (size_t i = 0; i < array_length(workers); i++)
		if (bed_look(bed, workers[i])->state == TASK_STOPPING)
			assert_true(bed_register(bed, workers[i]));
}

static void assert_nothing_paid(struct bed *bed)
{
	assert_int_equal(bed_status(bed).infrastructure_retries_used, 0);
	assert_int_equal(bed_status(bed).retries_used, 0);
}

/* ---- the barrier -------------------------------------------------------------------------- */

static void test_only_what_is_wanted_is_asked_for(void **state)
{
	struct bed *bed = bed_create_elastic("worker=3");
	bed_submit(bed);
	assert_int_equal(machine_task_count(bed->machine), 4);
	assert_task(bed, "worker:2", TASK_REQUESTED);
	assert_task(bed, "worker:3", TASK_WAITING);
	assert_true(machine_task_is_dormant(bed->machine, bed_task(bed, "worker:3")));
	assert_false(machine_task_is_dormant(bed->machine, bed_task(bed, "worker:2")));
	bed_destroy(bed);
}

static void test_starts_at_once_when_all_are_there(void **state)
{
	struct bed *bed = bed_create_elastic("worker=3");
	bed_submit(bed);
	come(bed, "worker:0");
	come(bed, "worker:1");
	assert_task(bed, "worker:0", TASK_REGISTERED);
	come(bed, "worker:2");
	assert_task(bed, "worker:0", TASK_RUNNING);
	assert_task(bed, "worker:2", TASK_RUNNING);
	bed_destroy(bed);
}

static void test_starts_with_the_least_after_a_while(void **state)
{
	struct bed *bed = bed_create_elastic("worker=3");
	bed_submit(bed);
	come(bed, "worker:0");
	bed_pass(bed, 2 * BED_SETTLE_MS);
	assert_task(bed, "worker:0", TASK_REGISTERED);
	come(bed, "worker:2");
	bed_beat(bed, "worker:0");
	bed_pass(bed, BED_SETTLE_MS - 1);
	assert_task(bed, "worker:2", TASK_REGISTERED);
	bed_pass(bed, 1);
	assert_task(bed, "worker:0", TASK_RUNNING);
	assert_task(bed, "worker:1", TASK_REQUESTED);
	assert_task(bed, "worker:2", TASK_RUNNING);
	assert_true(machine_task_is_member(bed->machine, bed_task(bed, "worker:2")));
	assert_false(machine_task_is_member(bed->machine, bed_task(bed, "worker:1")));
	bed_destroy(bed);
}

/* A container that was given is as good as one more that comes. */
static void test_who_is_on_the_way_is_waited_for(void **state)
{
	struct bed *bed = bed_create_elastic("worker=3");
	bed_submit(bed);
	come(bed, "worker:0");
	come(bed, "worker:1");
	bed_pass(bed, BED_SETTLE_MS - 1);
	bed_allocate(bed, "worker:2");
	bed_pass(bed, BED_SETTLE_MS - 1);
	assert_task(bed, "worker:0", TASK_REGISTERED);
	bed_register(bed, "worker:2");
	assert_task(bed, "worker:0", TASK_RUNNING);
	bed_destroy(bed);
}

/* All of the types that are not elastic must be there as ever. */
static void test_others_are_needed_whole(void **state)
{
	struct bed *bed = bed_create_elastic("ps=2:untracked worker=3");
	bed_submit(bed);
	come(bed, "worker:0");
	come(bed, "worker:1");
	come(bed, "ps:0");
	bed_pass(bed, 2 * BED_SETTLE_MS);
	assert_task(bed, "worker:0", TASK_REGISTERED);
	come(bed, "ps:1");
	assert_task(bed, "worker:0", TASK_RUNNING);
	bed_destroy(bed);
}

static void test_allocation_timeout_is_for_the_least(void **state)
{
	struct bed *bed = bed_create_elastic("worker=3");
	bed->job->allocation_timeout_ms = 60000;
	bed->job->heartbeat_interval_ms = 60000;
	bed_submit(bed);
	come(bed, "worker:0");
	come(bed, "worker:1");
	bed_pass(bed, 600000);
	assert_job(bed, JOB_RUNNING);
	assert_nothing_paid(bed);
	bed_destroy(bed);
	bed = bed_create_elastic("worker=3");
	bed->job->allocation_timeout_ms = 60000;
	bed->job->heartbeat_interval_ms = 60000;
	bed_submit(bed);
	come(bed, "worker:0");
	bed_pass(bed, 60000);
	assert_job(bed, JOB_FINISHING);
	assert_string_equal(bed_status(bed).cause->text,
			    "1 of 2 tasks were not there within "
			    "tony.container.allocation.timeout (1 m 00 s)");
	bed_destroy(bed);
}

/* ---- fewer -------------------------------------------------------------------------------- */

static void test_a_loss_makes_it_smaller(void **state)
{
	struct bed *bed = running("worker=3");
	bed_lose(bed, "worker:1", CAUSE_NODE_LOST);
	assert_job(bed, JOB_REFORMING);
	assert_epoch(bed, 2);
	assert_int_equal(bed_status(bed).cause->kind, CAUSE_NODE_LOST);
	assert_task(bed, "worker:0", TASK_STOPPING);
	register_stopping(bed);
	assert_job(bed, JOB_RUNNING);
	assert_task(bed, "worker:0", TASK_RUNNING);
	assert_task(bed, "worker:1", TASK_LOST);
	assert_task(bed, "worker:2", TASK_RUNNING);
	assert_nothing_paid(bed);
	bed_destroy(bed);
}

static void test_what_is_lost_is_asked_for_after_a_pause(void **state)
{
	struct bed *bed = running("worker=3");
	bed_lose(bed, "worker:1", CAUSE_EXECUTOR_LOST);
	register_stopping(bed);
	assert_task(bed, "worker:1", TASK_LOST);
	bed_pass(bed, FIRST_PAUSE_MAX_MS);
	assert_task(bed, "worker:1", TASK_REQUESTED);
	assert_int_equal(bed_look(bed, "worker:1")->attempt, 2);
	bed_destroy(bed);
}

/* Each further failure in a row doubles the pause, and none of them is paid for. */
static void test_what_keeps_failing_is_asked_for_ever_later(void **state)
{
	struct bed *bed = running("worker=3");
	bed->job->heartbeat_interval_ms = 3600 * 1000;
	int64_t last = 0;
	bed_lose(bed, "worker:2", CAUSE_NODE_LOST);
	register_stopping(bed);
	for (int i = 0; i < 8; i++) {
		int64_t pause = bed_look(bed, "worker:2")->ask_not_before - bed->now;
		assert_true(pause > last);
		last = pause;
		bed_pass(bed, pause);
		assert_task(bed, "worker:2", TASK_REQUESTED);
		bed_allocate(bed, "worker:2");
		bed_lose(bed, "worker:2", CAUSE_LAUNCH_FAILED);
		assert_task(bed, "worker:2", TASK_LOST);
	}
	assert_true(last > 50000);
	assert_epoch(bed, 2);
	assert_job(bed, JOB_RUNNING);
	assert_nothing_paid(bed);
	bed_destroy(bed);
}

/* One that has run for a minute is as good as new. */
static void test_a_good_while_forgives(void **state)
{
	struct bed *bed = running("worker=3");
	bed_lose(bed, "worker:2", CAUSE_NODE_LOST);
	register_stopping(bed);
	bed_pass(bed, FIRST_PAUSE_MAX_MS);
	come(bed, "worker:2");
	register_stopping(bed);
	assert_int_equal(bed_look(bed, "worker:2")->misses, 1);
	bed->job->heartbeat_interval_ms = 3600 * 1000;
	bed_pass(bed, 61000);
	bed_lose(bed, "worker:2", CAUSE_NODE_LOST);
	assert_int_equal(bed_look(bed, "worker:2")->misses, 1);
	bed_destroy(bed);
}

static void test_fewer_than_the_least_pays_and_waits(void **state)
{
	struct bed *bed = running("worker=3");
	bed->job->infrastructure_retry_count = 1;
	bed->job->fail_fast = true;
	bed_lose(bed, "worker:1", CAUSE_NODE_LOST);
	register_stopping(bed);
	bed_lose(bed, "worker:2", CAUSE_NODE_LOST);
	assert_int_equal(bed_status(bed).infrastructure_retries_used, 1);
	assert_job(bed, JOB_REFORMING);
	bed_pass(bed, 2 * FIRST_PAUSE_MAX_MS);
	register_stopping(bed);
	assert_task(bed, "worker:0", TASK_REGISTERED);
	come(bed, "worker:1");
	bed_pass(bed, BED_SETTLE_MS);
	assert_job(bed, JOB_RUNNING);
	bed_lose(bed, "worker:1", CAUSE_NODE_LOST); /* nothing is left to pay with */
	assert_job(bed, JOB_FINISHING);
	bed_destroy(bed);
}

static void test_a_failure_of_the_program_is_paid_as_ever(void **state)
{
	struct bed *bed = running("worker=3");
	bed->job->retry_count = 1;
	bed_exit(bed, "worker:2", 1);
	assert_int_equal(bed_status(bed).retries_used, 1);
	assert_task(bed, "worker:2", TASK_STOPPING);
	bed_destroy(bed);
}

static void test_who_is_preempted_is_given_back(void **state)
{
	struct bed *bed = running("worker=3");
	const struct machine_event event = {
		.kind = EVENT_PREEMPTED, .task = bed_task(bed, "worker:0"), .attempt = 1};
	action_list_clear(&bed->actions);
	assert_true(machine_handle(bed->machine, &event, bed->now, &bed->actions));
	assert_true(bed_acted(bed, ACTION_RELEASE, "worker:0"));
	assert_epoch(bed, 2);
	register_stopping(bed);
	assert_task(bed, "worker:1", TASK_RUNNING);
	bed_pass(bed, FIRST_PAUSE_MAX_MS); /* its container is still there */
	assert_task(bed, "worker:0", TASK_LOST);
	bed_gone(bed, "worker:0");
	assert_task(bed, "worker:0", TASK_REQUESTED);
	assert_nothing_paid(bed);
	bed_destroy(bed);
}

/* While the others are being stopped one more is lost. */
static void test_a_second_loss_on_the_way(void **state)
{
	struct bed *bed = bed_create_elastic("worker=4");
	bed_submit(bed);
	bed_bring_up(bed, "worker");
	bed_lose(bed, "worker:3", CAUSE_NODE_LOST);
	bed_register(bed, "worker:0");
	bed_register(bed, "worker:1");
	assert_task(bed, "worker:0", TASK_REGISTERED);
	bed_lose(bed, "worker:2", CAUSE_NODE_LOST);
	assert_task(bed, "worker:0", TASK_RUNNING);
	assert_task(bed, "worker:2", TASK_LOST);
	assert_epoch(bed, 2);
	assert_nothing_paid(bed);
	bed_destroy(bed);
}

/* What is refused beyond the least does not end the job. */
static void test_a_refusal_is_borne(void **state)
{
	struct bed *bed = bed_create_elastic("worker=3");
	bed_submit(bed);
	const struct cause cause = {.kind = CAUSE_ALLOCATION_REFUSED};
	const struct machine_event event = {.kind = EVENT_REFUSED,
					    .task = bed_task(bed, "worker:2"),
					    .attempt = 1,
					    .cause = &cause};
	assert_true(machine_handle(bed->machine, &event, bed->now, &bed->actions));
	assert_job(bed, JOB_FORMING);
	come(bed, "worker:0");
	come(bed, "worker:1");
	bed_pass(bed, BED_SETTLE_MS);
	assert_job(bed, JOB_RUNNING);
	bed_destroy(bed);
}

/* ---- more --------------------------------------------------------------------------------- */

static struct bed *running_with_two(void)
{
	struct bed *bed = bed_create_elastic("worker=4");
	bed->job->heartbeat_interval_ms = 3600 * 1000;
	bed_submit(bed);
	come(bed, "worker:0");
	come(bed, "worker:1");
	bed_pass(bed, BED_SETTLE_MS);
	assert_job(bed, JOB_RUNNING);
	return bed;
}

static void test_who_comes_joins_after_a_while(void **state)
{
	struct bed *bed = running_with_two();
	come(bed, "worker:2");
	assert_task(bed, "worker:2", TASK_REGISTERED);
	bed_pass(bed, BED_SETTLE_MS - 1);
	assert_task(bed, "worker:0", TASK_RUNNING);
	assert_epoch(bed, 1);
	bed_pass(bed, 1);
	assert_task(bed, "worker:0", TASK_STOPPING);
	assert_epoch(bed, 2);
	register_stopping(bed);
	assert_task(bed, "worker:0", TASK_RUNNING);
	assert_task(bed, "worker:2", TASK_RUNNING);
	assert_task(bed, "worker:3", TASK_REQUESTED);
	assert_nothing_paid(bed);
	bed_destroy(bed);
}

static void test_several_join_together(void **state)
{
	struct bed *bed = running_with_two();
	come(bed, "worker:2");
	bed_pass(bed, BED_SETTLE_MS - 1);
	come(bed, "worker:3"); /* the last: nobody is left to wait for */
	assert_epoch(bed, 2);
	register_stopping(bed);
	assert_task(bed, "worker:2", TASK_RUNNING);
	assert_task(bed, "worker:3", TASK_RUNNING);
	bed_destroy(bed);
}

static void test_nobody_joins_after_a_success(void **state)
{
	struct bed *bed = running_with_two();
	come(bed, "worker:2");
	bed_exit(bed, "worker:1", 0);
	assert_true(bed_acted(bed, ACTION_CANCEL, "worker:3"));
	assert_true(bed_acted(bed, ACTION_RELEASE, "worker:2"));
	assert_task(bed, "worker:2", TASK_STOPPED);
	bed_pass(bed, 2 * BED_SETTLE_MS);
	assert_epoch(bed, 1);
	bed_exit(bed, "worker:0", 0);
	bed_drain(bed);
	assert_job(bed, JOB_SUCCEEDED);
	bed_destroy(bed);
}

/* A loss then goes the way that it always went. */
static void test_a_loss_after_a_success_pays(void **state)
{
	struct bed *bed = running("worker=3");
	bed->job->infrastructure_retry_count = 1;
	bed_exit(bed, "worker:1", 0);
	bed_lose(bed, "worker:2", CAUSE_NODE_LOST);
	assert_int_equal(bed_status(bed).infrastructure_retries_used, 1);
	assert_job(bed, JOB_REFORMING);
	bed_destroy(bed);
}

/* Who was given up for a success is wanted again once the job forms anew. */
static void test_a_new_formation_asks_for_all(void **state)
{
	struct bed *bed = running_with_two();
	bed->job->retry_count = 1;
	bed_exit(bed, "worker:1", 0);
	assert_task(bed, "worker:2", TASK_STOPPED);
	bed_exit(bed, "worker:0", 1);
	assert_epoch(bed, 2);
	assert_task(bed, "worker:2", TASK_REQUESTED);
	assert_task(bed, "worker:3", TASK_REQUESTED);
	bed_destroy(bed);
}

/* ---- another number ----------------------------------------------------------------------- */

static void test_scaled_up(void **state)
{
	struct bed *bed = running("worker=3");
	assert_true(bed_scale(bed, "worker", 4));
	assert_int_equal(machine_wanted(bed->machine, 0), 4);
	assert_true(bed_acted(bed, ACTION_REQUEST, "worker:3"));
	assert_epoch(bed, 1);
	come(bed, "worker:3");
	assert_epoch(bed, 2);
	register_stopping(bed);
	assert_task(bed, "worker:3", TASK_RUNNING);
	assert_nothing_paid(bed);
	bed_destroy(bed);
}

static void test_scaled_down(void **state)
{
	struct bed *bed = running("worker=3");
	assert_true(bed_scale(bed, "worker", 2));
	assert_true(bed_acted(bed, ACTION_RELEASE, "worker:2"));
	assert_task(bed, "worker:2", TASK_STOPPED);
	assert_int_equal(machine_order(bed->machine, bed_task(bed, "worker:2")).kind, ORDER_QUIT);
	assert_epoch(bed, 2);
	register_stopping(bed);
	assert_job(bed, JOB_RUNNING);
	assert_nothing_paid(bed);
	assert_false(machine_task_is_dormant(bed->machine, bed_task(bed, "worker:2")));
	bed_gone(bed, "worker:2");
	assert_true(machine_task_is_dormant(bed->machine, bed_task(bed, "worker:2")));
	bed_pass(bed, 20000);
	assert_task(bed, "worker:2", TASK_STOPPED); /* and not asked for again */
	bed_exit(bed, "worker:0", 0);
	bed_exit(bed, "worker:1", 0);
	bed_drain(bed);
	assert_job(bed, JOB_SUCCEEDED);
	bed_destroy(bed);
}

static void test_scaled_while_it_forms(void **state)
{
	struct bed *bed = bed_create_elastic("worker=4");
	bed_submit(bed);
	come(bed, "worker:0");
	come(bed, "worker:1");
	bed_allocate(bed, "worker:2");
	assert_true(bed_scale(bed, "worker", 2));
	assert_true(bed_acted(bed, ACTION_RELEASE, "worker:2"));
	assert_true(bed_acted(bed, ACTION_CANCEL, "worker:3"));
	assert_task(bed, "worker:0", TASK_RUNNING); /* all that are wanted are there */
	assert_epoch(bed, 1);
	bed_destroy(bed);
}

/* Its container is on its way out when it is wanted again. */
static void test_scaled_down_and_up_at_once(void **state)
{
	struct bed *bed = running("worker=3");
	assert_true(bed_scale(bed, "worker", 2));
	assert_true(bed_scale(bed, "worker", 3));
	assert_task(bed, "worker:2", TASK_LOST);
	bed_gone(bed, "worker:2");
	assert_task(bed, "worker:2", TASK_REQUESTED);
	assert_int_equal(bed_look(bed, "worker:2")->attempt, 2);
	bed_destroy(bed);
}

static void test_a_container_nobody_wants_any_more_is_given_back(void **state)
{
	struct bed *bed = running("worker=3");
	assert_true(bed_scale(bed, "worker", 4));
	assert_true(bed_scale(bed, "worker", 3));
	assert_true(bed_acted(bed, ACTION_CANCEL, "worker:3"));
	assert_true(bed_allocate(bed, "worker:3"));
	assert_true(bed_acted(bed, ACTION_RELEASE, "worker:3"));
	bed_gone(bed, "worker:3");
	assert_true(machine_task_is_dormant(bed->machine, bed_task(bed, "worker:3")));
	bed_destroy(bed);
}

static void test_scaling_has_limits(void **state)
{
	struct bed *bed = running("ps=1:untracked worker=3");
	assert_false(bed_scale(bed, "worker", 1));
	assert_false(bed_scale(bed, "worker", 5));
	assert_false(bed_scale(bed, "ps", 1));
	assert_true(bed_scale(bed, "worker", 3));
	assert_int_equal(bed->actions.count, 0);
	bed_exit(bed, "worker:1", 0);
	assert_false(bed_scale(bed, "worker", 4));
	bed_exit(bed, "worker:0", 0);
	bed_exit(bed, "worker:2", 0);
	assert_false(bed_scale(bed, "worker", 4));
	bed_destroy(bed);
}

static void test_scaled_before_its_turn(void **state)
{
	struct bed *bed = bed_create_elastic("prepare=1 worker=3");
	bed_depend(bed, "worker", "prepare", false);
	bed_submit(bed);
	assert_true(bed_scale(bed, "worker", 2));
	assert_task(bed, "worker:0", TASK_WAITING);
	bed_bring_up(bed, "prepare");
	bed_exit(bed, "prepare:0", 0);
	assert_task(bed, "worker:1", TASK_REQUESTED);
	assert_task(bed, "worker:2", TASK_WAITING);
	come(bed, "worker:0");
	come(bed, "worker:1");
	assert_task(bed, "worker:0", TASK_RUNNING);
	assert_true(bed_scale(bed, "worker", 3)); /* a stage that is over is no end */
	bed_destroy(bed);
}

/* Its tasks, which have succeeded, would run again beside the new ones. */
static void test_a_finished_stage_is_not_scaled(void **state)
{
	struct bed *bed = bed_create_elastic("worker=2 last=1");
	bed_depend(bed, "last", "worker", false);
	bed_submit(bed);
	come(bed, "worker:0");
	come(bed, "worker:1");
	assert_job(bed, JOB_RUNNING);
	bed_exit(bed, "worker:0", 0);
	bed_exit(bed, "worker:1", 0);
	assert_task(bed, "last:0", TASK_REQUESTED);
	assert_false(bed_scale(bed, "worker", 3));
	bed_destroy(bed);
}

/* ---- others ------------------------------------------------------------------------------- */

static void test_the_first_member_is_the_chief(void **state)
{
	struct bed *bed = running("worker=3");
	bed->job->stop_after_chief = true;
	bed_lose(bed, "worker:0", CAUSE_NODE_LOST);
	register_stopping(bed);
	bed_exit(bed, "worker:2", 0);
	assert_job(bed, JOB_RUNNING);
	bed_exit(bed, "worker:1", 0);
	assert_job(bed, JOB_FINISHING);
	bed_drain(bed);
	assert_job(bed, JOB_SUCCEEDED);
	bed_destroy(bed);
}

/* Who waits for the workers to have started waits for those there are. */
static void test_dependents_wait_for_the_members(void **state)
{
	struct bed *bed = bed_create_elastic("worker=4 evaluator=1");
	bed_depend(bed, "evaluator", "worker", true);
	bed->job->heartbeat_interval_ms = 3600 * 1000;
	bed_submit(bed);
	come(bed, "worker:0");
	come(bed, "worker:1");
	bed_pass(bed, BED_SETTLE_MS);
	bed_start(bed, "worker:0");
	assert_task(bed, "evaluator:0", TASK_WAITING);
	bed_start(bed, "worker:1");
	assert_task(bed, "evaluator:0", TASK_REQUESTED);
	come(bed, "evaluator:0"); /* and does not wait for those that may come */
	assert_task(bed, "evaluator:0", TASK_RUNNING);
	bed_destroy(bed);
}

static void test_who_is_still_to_come_holds_up_no_group(void **state)
{
	struct bed *bed = bed_create_elastic("chief=1 worker=3");
	struct job_group_timeout *timeout = mem_alloc(sizeof(*timeout));
	*timeout = (struct job_group_timeout){.type = 1, .group = mem_strdup("A")};
	timeout->members = mem_alloc(sizeof(*timeout->members));
	timeout->member_count = 1;
	timeout->timeout_ms = 30000;
	bed->job->group_timeouts = timeout;
	bed->job->group_timeout_count = 1;
	bed->job->heartbeat_interval_ms = 3600 * 1000;
	bed_submit(bed);
	come(bed, "chief:0");
	come(bed, "worker:0");
	come(bed, "worker:1");
	bed_pass(bed, BED_SETTLE_MS);
	bed_exit(bed, "chief:0", 0);
	bed_pass(bed, 30000);
	assert_job(bed, JOB_FINISHING);
	assert_int_equal(bed_status(bed).cause->kind, CAUSE_GROUP_TIMEOUT);
	bed_destroy(bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_what_is_wanted_is_asked_for),
		cmocka_unit_test(test_starts_at_once_when_all_are_there),
		cmocka_unit_test(test_starts_with_the_least_after_a_while),
		cmocka_unit_test(test_who_is_on_the_way_is_waited_for),
		cmocka_unit_test(test_others_are_needed_whole),
		cmocka_unit_test(test_allocation_timeout_is_for_the_least),
		cmocka_unit_test(test_a_loss_makes_it_smaller),
		cmocka_unit_test(test_what_is_lost_is_asked_for_after_a_pause),
		cmocka_unit_test(test_what_keeps_failing_is_asked_for_ever_later),
		cmocka_unit_test(test_a_good_while_forgives),
		cmocka_unit_test(test_fewer_than_the_least_pays_and_waits),
		cmocka_unit_test(test_a_failure_of_the_program_is_paid_as_ever),
		cmocka_unit_test(test_who_is_preempted_is_given_back),
		cmocka_unit_test(test_a_second_loss_on_the_way),
		cmocka_unit_test(test_a_refusal_is_borne),
		cmocka_unit_test(test_who_comes_joins_after_a_while),
		cmocka_unit_test(test_several_join_together),
		cmocka_unit_test(test_nobody_joins_after_a_success),
		cmocka_unit_test(test_a_loss_after_a_success_pays),
		cmocka_unit_test(test_a_new_formation_asks_for_all),
		cmocka_unit_test(test_scaled_up),
		cmocka_unit_test(test_scaled_down),
		cmocka_unit_test(test_scaled_while_it_forms),
		cmocka_unit_test(test_scaled_down_and_up_at_once),
		cmocka_unit_test(test_a_container_nobody_wants_any_more_is_given_back),
		cmocka_unit_test(test_scaling_has_limits),
		cmocka_unit_test(test_scaled_before_its_turn),
		cmocka_unit_test(test_a_finished_stage_is_not_scaled),
		cmocka_unit_test(test_the_first_member_is_the_chief),
		cmocka_unit_test(test_dependents_wait_for_the_members),
		cmocka_unit_test(test_who_is_still_to_come_holds_up_no_group),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
