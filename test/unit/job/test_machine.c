/* The rules of a job's life, one promise per test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "machine_bed.h"

#define assert_task(bed, name, expected) assert_int_equal(bed_look(bed, name)->state, expected)
#define assert_job(bed, expected)	 assert_int_equal(bed_status(bed).state, expected)

static struct bed *running(const char *types)
{
	struct bed *bed = bed_create(types);
	bed_submit(bed);
	for (size_t i = 0; i < bed->job->type_count; i++)
		bed_bring_up(bed, bed->job->types[i].name);
	assert_job(bed, JOB_RUNNING);
	return bed;
}

static void test_gang_starts_together(void **state)
{
	struct bed *bed = bed_create("ps=1:untracked worker=2");
	bed_submit(bed);
	bed_allocate(bed, "ps:0");
	bed_allocate(bed, "worker:0");
	bed_allocate(bed, "worker:1");
	bed_register(bed, "ps:0");
	bed_register(bed, "worker:1");
	assert_task(bed, "ps:0", TASK_REGISTERED);
	assert_int_equal(machine_order(bed->machine, bed_task(bed, "ps:0")).kind, ORDER_WAIT);
	bed_register(bed, "worker:0");
	assert_task(bed, "ps:0", TASK_RUNNING);
	assert_task(bed, "worker:0", TASK_RUNNING);
	assert_true(bed_acted(bed, ACTION_EPOCH, "ps:0"));
	assert_true(bed_acted(bed, ACTION_ORDER, "worker:1"));
	assert_job(bed, JOB_RUNNING);
	bed_destroy(bed);
}

static void test_fcfs_starts_each(void **state)
{
	struct bed *bed = bed_create("worker=2");
	bed->job->mode = JOB_MODE_FCFS;
	bed_submit(bed);
	bed_allocate(bed, "worker:1");
	bed_register(bed, "worker:1");
	assert_task(bed, "worker:1", TASK_RUNNING);
	assert_task(bed, "worker:0", TASK_REQUESTED);
	bed_destroy(bed);
}

static void test_success_ends_untracked(void **state)
{
	struct bed *bed = running("ps=1:untracked worker=2");
	bed_exit(bed, "worker:0", 0);
	assert_job(bed, JOB_RUNNING);
	assert_true(bed_acted(bed, ACTION_RELEASE, "worker:0"));
	bed_exit(bed, "worker:1", 0);
	assert_job(bed, JOB_FINISHING);
	assert_task(bed, "ps:0", TASK_STOPPED);
	assert_true(bed_acted(bed, ACTION_RELEASE, "ps:0"));
	bed_drain(bed);
	assert_job(bed, JOB_SUCCEEDED);
	bed_destroy(bed);
}

static void test_one_survivor_is_no_success(void **state)
{
	struct bed *bed = running("worker=3");
	bed_exit(bed, "worker:1", 3);
	assert_job(bed, JOB_RUNNING); /* as in TonY the others go on */
	bed_exit(bed, "worker:0", 0);
	bed_exit(bed, "worker:2", 0);
	bed_drain(bed);
	assert_job(bed, JOB_FAILED);
	struct machine_status status = bed_status(bed);
	assert_int_equal(status.cause_task, bed_task(bed, "worker:1"));
	assert_int_equal(status.cause->exit_code, 3);
	bed_destroy(bed);
}

static void check_fails_at_once(struct bed *bed, const char *name)
{
	bed_exit(bed, name, 1);
	assert_job(bed, JOB_FINISHING);
	bed_drain(bed);
	assert_job(bed, JOB_FAILED);
	bed_destroy(bed);
}

static void test_chief_failure_fails_at_once(void **state)
{
	check_fails_at_once(running("worker=2"), "worker:0");
	check_fails_at_once(running("chief=1 worker=2"), "chief:0");
}

static void test_stop_on_failure_fails_at_once(void **state)
{
	struct bed *bed = running("worker=2");
	bed_type(bed, "worker")->stop_on_failure = true;
	check_fails_at_once(bed, "worker:1");
}

static void test_fail_fast_fails_at_once(void **state)
{
	struct bed *bed = running("worker=2");
	bed->job->fail_fast = true;
	check_fails_at_once(bed, "worker:1");
}

static void test_untracked_failure_fails(void **state)
{
	check_fails_at_once(running("ps=1:untracked worker=1"), "ps:0");
}

static void test_sidecar_failure_is_ignored(void **state)
{
	struct bed *bed = running("board=1:sidecar worker=1");
	bed_exit(bed, "board:0", 1);
	assert_job(bed, JOB_RUNNING);
	assert_task(bed, "board:0", TASK_FAILED);
	bed_exit(bed, "worker:0", 0);
	bed_drain(bed);
	assert_job(bed, JOB_SUCCEEDED);
	bed_destroy(bed);
}

static void test_first_failure_is_reported(void **state)
{
	struct bed *bed = running("worker=3");
	bed_exit(bed, "worker:2", 7);
	bed_exit(bed, "worker:1", 8);
	bed_exit(bed, "worker:0", 9);
	assert_int_equal(bed_status(bed).cause->exit_code, 7);
	bed_destroy(bed);
}

/* promise: R1 */
static void test_retry_keeps_surviving_containers(void **state)
{
	struct bed *bed = bed_create("worker=2");
	bed->job->retry_count = 1;
	bed_submit(bed);
	bed_bring_up(bed, "worker");
	bed_exit(bed, "worker:1", 1);
	assert_job(bed, JOB_REFORMING);
	assert_int_equal(bed_status(bed).epoch, 2);
	assert_task(bed, "worker:0", TASK_STOPPING);
	assert_task(bed, "worker:1", TASK_STOPPING);
	assert_false(bed_acted(bed, ACTION_RELEASE, "worker:0"));
	assert_int_equal(machine_order(bed->machine, 0).kind, ORDER_STOP);
	bed_register(bed, "worker:0");
	assert_task(bed, "worker:0", TASK_REGISTERED);
	bed_register(bed, "worker:1");
	assert_job(bed, JOB_RUNNING);
	assert_int_equal(bed_look(bed, "worker:0")->attempt, 1);
	assert_int_equal(bed_look(bed, "worker:0")->epoch, 2);
	assert_int_equal(bed_status(bed).cause->kind, CAUSE_NONE);
	bed_exit(bed, "worker:1", 1); /* the budget is spent */
	bed_exit(bed, "worker:0", 0);
	bed_drain(bed);
	assert_job(bed, JOB_FAILED);
	assert_int_equal(bed_status(bed).retries_used, 1);
	bed_destroy(bed);
}

static void test_old_registration_does_not_pass_for_a_stop(void **state)
{
	struct bed *bed = bed_create("worker=2");
	bed->job->retry_count = 1;
	bed_submit(bed);
	bed_bring_up(bed, "worker");
	bed_exit(bed, "worker:1", 1);
	struct machine_event old = {
		.kind = EVENT_REGISTERED, .task = 0, .attempt = 1, .epoch = 0, .host = "h"};
	action_list_clear(&bed->actions);
	assert_true(machine_handle(bed->machine, &old, bed->now, &bed->actions));
	assert_task(bed, "worker:0", TASK_STOPPING);
	bed_destroy(bed);
}

static void test_lost_container_is_asked_for_again(void **state)
{
	struct bed *bed = bed_create("worker=2");
	bed->job->infrastructure_retry_count = 1;
	bed_submit(bed);
	bed_bring_up(bed, "worker");
	bed_lose(bed, "worker:1", CAUSE_NODE_LOST);
	assert_job(bed, JOB_REFORMING);
	assert_int_equal(bed_status(bed).retries_used, 0);
	assert_int_equal(bed_status(bed).infrastructure_retries_used, 1);
	assert_task(bed, "worker:0", TASK_STOPPING);
	bed_register(bed, "worker:0");
	bed_pass(bed, 1000);
	assert_task(bed, "worker:1", TASK_REQUESTED);
	assert_int_equal(bed_look(bed, "worker:1")->attempt, 2);
	bed_bring_up(bed, "worker");
	assert_job(bed, JOB_RUNNING);
	bed_destroy(bed);
}

/* promise: R8 */
static void test_silent_executor_is_released_before_it_is_replaced(void **state)
{
	struct bed *bed = bed_create("worker=1");
	bed->job->infrastructure_retry_count = 1;
	bed_submit(bed);
	bed_bring_up(bed, "worker");
	bed_pass(bed, 20000);
	bed_beat(bed, "worker:0");
	bed_pass(bed, 24000);
	assert_task(bed, "worker:0", TASK_RUNNING);
	bed_pass(bed, 2000);
	assert_task(bed, "worker:0", TASK_LOST); /* not asked for: the old one may still run */
	assert_false(bed_beat(bed, "worker:0"));
	bed_gone(bed, "worker:0");
	assert_task(bed, "worker:0", TASK_REQUESTED);
	bed_destroy(bed);
}

static void test_silence_while_the_am_stood_still_is_not_held_against_an_executor(void **state)
{
	struct bed *bed = bed_create("worker=1");
	bed_submit(bed);
	bed_bring_up(bed, "worker");
	bed_pass(bed, 10000);
	bed_stand_still(bed, 3600000);
	assert_task(bed, "worker:0", TASK_RUNNING);
	bed_beat(bed, "worker:0");
	bed_pass(bed, 24000);
	assert_task(bed, "worker:0", TASK_RUNNING);
	bed_stand_still(bed, 500); /* no more than a busy machine does: that counts */
	bed_pass(bed, 1000);
	assert_task(bed, "worker:0", TASK_LOST);
	bed_destroy(bed);
}

/* Each time it forgives by what it was late itself, and never more. */
static void test_an_am_that_is_always_late_finds_a_lost_executor(void **state)
{
	struct bed *bed = bed_create("worker=1");
	bed_submit(bed);
	bed_bring_up(bed, "worker");
	for (int looks = 0; looks < 10 && bed_look(bed, "worker:0")->state == TASK_RUNNING;
	     looks++) {
		bed->now = machine_deadline(bed->machine);
		bed_stand_still(bed, 20000);
	}
	assert_task(bed, "worker:0", TASK_LOST);
	bed_destroy(bed);
}

static void test_executors_of_one_machine_that_are_lost_together_are_told_once(void **state)
{
	struct bed *bed = bed_create("worker=4");
	bed->job->infrastructure_retry_count = 1;
	bed_submit(bed);
	bed_bring_up(bed, "worker");
	bed_pass(bed, 10000);
	bed_beat(bed, "worker:3");
	bed_pass(bed, 16000);
	assert_task(bed, "worker:0", TASK_LOST);
	assert_task(bed, "worker:1", TASK_LOST);
	assert_task(bed, "worker:2", TASK_LOST);
	assert_task(bed, "worker:3", TASK_STOPPING);
	assert_non_null(strstr(bed_look(bed, "worker:0")->cause.text,
			       "and neither were those of 2 more tasks on "));
	assert_string_equal(bed_look(bed, "worker:1")->cause.text,
			    "its executor was not heard of for 25.0 s");
	assert_int_equal(bed_status(bed).infrastructure_retries_used, 1);
	bed_destroy(bed);
}

static void test_an_executor_that_beats_and_does_not_stop_is_not_called_silent(void **state)
{
	struct bed *bed = bed_create("worker=2");
	bed->job->infrastructure_retry_count = 1;
	bed_submit(bed);
	bed_bring_up(bed, "worker");
	bed_gone(bed, "worker:0");
	assert_task(bed, "worker:1", TASK_STOPPING);
	while (bed_look(bed, "worker:1")->state == TASK_STOPPING) {
		bed_beat(bed, "worker:1");
		bed_pass(bed, 1000);
	}
	assert_non_null(strstr(bed_look(bed, "worker:1")->cause.text,
			       "its executor did not end the program within "));
	bed_destroy(bed);
}

/* promise: R1 */
static void test_restart_in_place(void **state)
{
	struct bed *bed = bed_create("worker=2");
	bed_type(bed, "worker")->max_restarts = 2;
	bed_submit(bed);
	bed_bring_up(bed, "worker");
	bed_exit(bed, "worker:1", 1);
	assert_task(bed, "worker:1", TASK_RUNNING); /* the first time without a pause */
	assert_int_equal(bed_look(bed, "worker:1")->restart, 1);
	assert_int_equal(bed_look(bed, "worker:1")->attempt, 1);
	assert_task(bed, "worker:0", TASK_RUNNING);
	bed_start(bed, "worker:1");
	bed_exit(bed, "worker:1", 1);
	assert_task(bed, "worker:1", TASK_REGISTERED);
	bed_pass(bed, 1000);
	assert_task(bed, "worker:1", TASK_RUNNING);
	assert_int_equal(bed_look(bed, "worker:1")->restart, 2);
	bed_start(bed, "worker:1");
	bed_exit(bed, "worker:1", 1);
	assert_task(bed, "worker:1", TASK_FAILED);
	bed_destroy(bed);
}

static void test_web_interface_is_that_of_a_process(void **state)
{
	struct bed *bed = bed_create("worker=1");
	bed_type(bed, "worker")->max_restarts = 1;
	bed_submit(bed);
	bed_bring_up(bed, "worker");
	bed_serve(bed, "worker:0", 6006);
	assert_true(bed_acted(bed, ACTION_TASK_CHANGED, "worker:0"));
	assert_int_equal(bed_look(bed, "worker:0")->ui_port, 6006);
	bed_serve(bed, "worker:0", 6006);
	assert_false(bed_acted(bed, ACTION_TASK_CHANGED, "worker:0")); /* told once */
	struct machine_event old = {
		.kind = EVENT_BEAT, .task = 0, .attempt = 1, .epoch = 1, .ui_port = 6006};
	bed_exit(bed, "worker:0", 1); /* and started again in place */
	assert_int_equal(bed_look(bed, "worker:0")->ui_port, 0);
	bed_start(bed, "worker:0");
	assert_true(machine_handle(bed->machine, &old, bed->now, &bed->actions));
	assert_int_equal(bed_look(bed, "worker:0")->ui_port, 0);
	bed_destroy(bed);
}

/* promise: S17 */
static void test_stale_exit_changes_nothing(void **state)
{
	struct bed *bed = bed_create("worker=1");
	bed_type(bed, "worker")->max_restarts = 1;
	bed_submit(bed);
	bed_bring_up(bed, "worker");
	bed_exit(bed, "worker:0", 1);
	struct machine_event old = {
		.kind = EVENT_EXITED, .task = 0, .attempt = 1, .epoch = 1, .restart = 0};
	assert_true(machine_handle(bed->machine, &old, bed->now, &bed->actions));
	assert_task(bed, "worker:0", TASK_RUNNING);
	old.attempt = 0;
	old.restart = 1;
	assert_false(machine_handle(bed->machine, &old, bed->now, &bed->actions));
	assert_task(bed, "worker:0", TASK_RUNNING);
	bed_destroy(bed);
}

/* The survivor's container is the same in both epochs, so its attempt tells nothing. */
/* promise: S17 */
static void test_exit_of_an_earlier_epoch_changes_nothing(void **state)
{
	struct bed *bed = bed_create("worker=2");
	bed->job->retry_count = 1;
	bed_submit(bed);
	bed_bring_up(bed, "worker");
	bed_exit(bed, "worker:1", 1);
	bed_register(bed, "worker:0");
	bed_register(bed, "worker:1");
	assert_job(bed, JOB_RUNNING);
	struct machine_event old = {
		.kind = EVENT_EXITED, .task = 0, .attempt = 1, .epoch = 1, .restart = 0};
	assert_true(machine_handle(bed->machine, &old, bed->now, &bed->actions));
	assert_task(bed, "worker:0", TASK_RUNNING);
	bed_destroy(bed);
}

static void test_stages(void **state)
{
	struct bed *bed = bed_create("db=1 worker=1");
	bed_depend(bed, "worker", "db", false);
	bed_submit(bed);
	assert_task(bed, "worker:0", TASK_WAITING);
	bed_bring_up(bed, "db");
	assert_task(bed, "worker:0", TASK_WAITING);
	bed_exit(bed, "db:0", 0);
	assert_task(bed, "worker:0", TASK_REQUESTED);
	bed_bring_up(bed, "worker");
	bed_exit(bed, "worker:0", 0);
	bed_drain(bed);
	assert_job(bed, JOB_SUCCEEDED);
	bed_destroy(bed);
}

static void test_failed_stage_never_releases_the_next(void **state)
{
	struct bed *bed = bed_create("db=2 worker=1");
	bed_depend(bed, "worker", "db", false);
	bed_submit(bed);
	bed_bring_up(bed, "db");
	bed_exit(bed, "db:1", 1);
	bed_drain(bed);
	assert_job(bed, JOB_FAILED);
	assert_task(bed, "worker:0", TASK_STOPPED);
	assert_int_equal(bed_look(bed, "worker:0")->attempt, 0);
	bed_destroy(bed);
}

static void test_finished_stage_is_not_run_again(void **state)
{
	struct bed *bed = bed_create("db=1 worker=1");
	bed->job->retry_count = 1;
	bed_depend(bed, "worker", "db", false);
	bed_submit(bed);
	bed_bring_up(bed, "db");
	bed_exit(bed, "db:0", 0);
	bed_gone(bed, "db:0");
	bed_bring_up(bed, "worker");
	bed_exit(bed, "worker:0", 1);
	assert_job(bed, JOB_REFORMING);
	assert_task(bed, "db:0", TASK_SUCCEEDED);
	bed_register(bed, "worker:0");
	assert_job(bed, JOB_RUNNING);
	bed_destroy(bed);
}

static void test_start_order(void **state)
{
	struct bed *bed = bed_create("ps=1:untracked worker=1");
	bed_depend(bed, "worker", "ps", true);
	bed_submit(bed);
	bed_allocate(bed, "ps:0");
	bed_register(bed, "ps:0");
	assert_task(bed, "ps:0", TASK_RUNNING);
	assert_task(bed, "worker:0", TASK_WAITING);
	bed_start(bed, "ps:0");
	assert_task(bed, "worker:0", TASK_REQUESTED);
	bed_destroy(bed);
}

static void test_application_timeout(void **state)
{
	struct bed *bed = bed_create("worker=8");
	bed->job->application_timeout_ms = 5000;
	bed_submit(bed);
	bed_bring_up(bed, "worker");
	bed_exit(bed, "worker:1", 0);
	bed_pass(bed, 4999);
	assert_job(bed, JOB_RUNNING);
	bed_pass(bed, 1);
	bed_drain(bed);
	assert_job(bed, JOB_FAILED);
	assert_int_equal(bed_status(bed).cause->kind, CAUSE_APPLICATION_TIMEOUT);
	assert_string_equal(
		bed_status(bed).cause->text,
		"the job did not end within tony.application.timeout (5.0 s); worker:0, "
		"worker:2, worker:3, worker:4, worker:5 and 2 more still ran");
	bed_destroy(bed);
}

static void test_half_a_gang_gives_back(void **state)
{
	struct bed *bed = bed_create("worker=2");
	bed->job->allocation_timeout_ms = 1000;
	bed->job->infrastructure_retry_count = 1;
	bed_submit(bed);
	bed_allocate(bed, "worker:0");
	bed_pass(bed, 1100);
	assert_task(bed, "worker:0", TASK_LOST);
	assert_true(bed_look(bed, "worker:0")->has_container);
	bed_gone(bed, "worker:0");
	bed_pass(bed, 500);
	assert_task(bed, "worker:0", TASK_REQUESTED);
	assert_task(bed, "worker:1", TASK_REQUESTED);
	assert_int_equal(bed_look(bed, "worker:1")->attempt, 2);
	bed_bring_up(bed, "worker");
	assert_job(bed, JOB_RUNNING);
	bed_destroy(bed);
}

static void test_allocation_timeout_with_nothing_held_fails(void **state)
{
	struct bed *bed = bed_create("worker=2");
	bed->job->allocation_timeout_ms = 1000;
	bed->job->infrastructure_retry_count = 5;
	bed_submit(bed);
	bed_pass(bed, 1000);
	assert_job(bed, JOB_FAILED);
	assert_int_equal(bed_status(bed).cause->kind, CAUSE_ALLOCATION_TIMEOUT);
	bed_destroy(bed);
}

/* It holds some for the gang, of which the machine does not know. */
static void test_allocation_timeout_says_what_the_scheduler_waits_for(void **state)
{
	struct bed *bed = bed_create("worker=4");
	bed->job->allocation_timeout_ms = 1000;
	bed_submit(bed);
	machine_set_waiting(bed->machine, "waits for 1 of 4 containers");
	bed_pass(bed, 1000);
	assert_string_equal(bed_status(bed).cause->text,
			    "not all tasks were there within tony.container.allocation.timeout "
			    "(1.0 s): the job waits for 1 of 4 containers");
	bed_destroy(bed);
}

static void test_surplus_allocation_is_released(void **state)
{
	struct bed *bed = bed_create("worker=1");
	bed_submit(bed);
	struct machine_event kill = {.kind = EVENT_KILL};
	machine_handle(bed->machine, &kill, bed->now, &bed->actions);
	assert_job(bed, JOB_KILLED);
	bed_destroy(bed);

	bed = bed_create("worker=2");
	bed_submit(bed);
	bed_allocate(bed, "worker:0");
	machine_handle(bed->machine, &kill, bed->now, &bed->actions);
	assert_true(bed_acted(bed, ACTION_CANCEL, "worker:1"));
	bed_allocate(bed, "worker:1"); /* crossed the cancel on its way */
	assert_true(bed_acted(bed, ACTION_RELEASE, "worker:1"));
	assert_job(bed, JOB_FINISHING);
	bed_drain(bed);
	assert_job(bed, JOB_KILLED);
	bed_destroy(bed);
}

/* A scheduler that starts executors by itself may tell of a container after its executor did. */
static void test_a_task_registers_before_its_container_is_known(void **state)
{
	struct bed *bed = bed_create("worker=2");
	bed->job->registration_timeout_ms = 1000;
	bed_submit(bed);
	assert_true(bed_register(bed, "worker:0"));
	assert_task(bed, "worker:0", TASK_REGISTERED);
	assert_false(bed_acted(bed, ACTION_LAUNCH, "worker:0"));
	assert_true(bed_look(bed, "worker:0")->has_container);
	assert_true(bed_come(bed, "worker:1"));
	assert_job(bed, JOB_RUNNING);
	bed_start(bed, "worker:0");
	assert_true(bed_allocate(bed, "worker:0"));
	assert_string_equal(bed_look(bed, "worker:0")->container, "container");
	assert_true(bed_acted(bed, ACTION_TASK_CHANGED, "worker:0")); /* the journal has its name */
	assert_false(bed_acted(bed, ACTION_LAUNCH, "worker:0"));
	assert_false(bed_allocate(bed, "worker:0"));
	bed_exit(bed, "worker:0", 0);
	assert_true(bed_acted(bed, ACTION_RELEASE, "worker:0"));
	bed_exit(bed, "worker:1", 0);
	bed_drain(bed);
	assert_job(bed, JOB_SUCCEEDED);
	bed_destroy(bed);
}

static void test_a_container_is_known_after_it_was_given_back(void **state)
{
	struct bed *bed = bed_create("worker=2");
	bed_submit(bed);
	bed_register(bed, "worker:0");
	struct machine_event kill = {.kind = EVENT_KILL};
	machine_handle(bed->machine, &kill, bed->now, &bed->actions);
	assert_true(bed_acted(bed, ACTION_RELEASE, "worker:0"));
	assert_true(bed_acted(bed, ACTION_CANCEL, "worker:1"));
	assert_true(bed_allocate(bed, "worker:0"));
	assert_false(bed_acted(bed, ACTION_RELEASE, "worker:0"));
	assert_true(bed_register(bed, "worker:1")); /* and is told to leave */
	assert_int_equal(machine_order(bed->machine, 1).kind, ORDER_QUIT);
	bed_drain(bed);
	assert_job(bed, JOB_KILLED);
	bed_destroy(bed);
}

static void test_refused_gang_member_fails_the_job(void **state)
{
	struct bed *bed = bed_create("worker=2");
	bed_submit(bed);
	struct cause cause = {.kind = CAUSE_ALLOCATION_REFUSED, .text = "needs 64 GiB"};
	struct machine_event event = {
		.kind = EVENT_REFUSED, .task = 1, .attempt = 1, .cause = &cause};
	machine_handle(bed->machine, &event, bed->now, &bed->actions);
	assert_job(bed, JOB_FAILED);
	assert_string_equal(bed_status(bed).cause->text, "needs 64 GiB");
	bed_destroy(bed);
}

static void test_chief_end_may_end_the_job(void **state)
{
	struct bed *bed = running("chief=1 worker=1");
	bed->job->stop_after_chief = true;
	bed_exit(bed, "chief:0", 0);
	bed_drain(bed);
	assert_job(bed, JOB_SUCCEEDED);
	assert_task(bed, "worker:0", TASK_STOPPED);
	bed_destroy(bed);
}

static struct bed *with_group(bool ignored)
{
	struct bed *bed = bed_create("chief=1 worker=2");
	bed->job->group_timeouts = calloc(1, sizeof(struct job_group_timeout));
	bed->job->group_timeout_count = 1;
	size_t *members = calloc(1, sizeof(*members));
	bed->job->group_timeouts[0] = (struct job_group_timeout){.type = 1,
								 .group = mem_strdup("A"),
								 .members = members,
								 .member_count = 1,
								 .timeout_ms = 10000,
								 .ignored = ignored};
	bed_submit(bed);
	bed_bring_up(bed, "chief");
	bed_bring_up(bed, "worker");
	bed_exit(bed, "chief:0", 0);
	for (int i = 0; i < 9; i++) {
		bed_pass(bed, 1000);
		bed_beat(bed, "worker:0");
		bed_beat(bed, "worker:1");
	}
	assert_job(bed, JOB_RUNNING);
	return bed;
}

static void test_group_timeout(void **state)
{
	struct bed *bed = with_group(false);
	bed_pass(bed, 1001);
	bed_drain(bed);
	assert_job(bed, JOB_FAILED);
	assert_int_equal(bed_status(bed).cause->kind, CAUSE_GROUP_TIMEOUT);
	assert_non_null(strstr(bed_status(bed).cause->text, "; worker:0, worker:1 still ran"));
	bed_destroy(bed);
}

static void test_ignored_group_timeout(void **state)
{
	struct bed *bed = with_group(true);
	bed_pass(bed, 1001);
	bed_drain(bed);
	assert_job(bed, JOB_SUCCEEDED);
	bed_destroy(bed);
}

static void test_restart_by_user_costs_nothing(void **state)
{
	struct bed *bed = running("worker=2");
	struct machine_event event = {.kind = EVENT_RESTART_TASK, .task = 1};
	assert_true(machine_handle(bed->machine, &event, bed->now, &bed->actions));
	struct order order = machine_order(bed->machine, 1);
	assert_int_equal(order.kind, ORDER_RUN);
	assert_int_equal(order.restart, 1);
	assert_int_equal(bed_look(bed, "worker:1")->restarts_used, 0);
	bed_start(bed, "worker:1");
	bed_exit(bed, "worker:1", 0);
	assert_task(bed, "worker:1", TASK_SUCCEEDED);
	bed_destroy(bed);
}

static bool is_noted(const struct bed *bed, const char *text)
{
	for (size_t i = 0; i < bed->actions.count; i++)
		if (bed->actions.items[i].kind == ACTION_NOTE &&
		    strcmp(bed->actions.items[i].text, text) == 0)
			return true;
	return false;
}

static void test_restart_names_another_user(void **state)
{
	struct bed *bed = running("worker=2");
	const struct cause by = {.text = "ada"};
	struct machine_event event = {.kind = EVENT_RESTART_TASK, .task = 1, .cause = &by};
	assert_true(machine_handle(bed->machine, &event, bed->now, &bed->actions));
	assert_true(is_noted(bed, "worker:1 is restarted by ada"));
	event = (struct machine_event){.kind = EVENT_RESTART_TASK, .task = 0};
	assert_true(machine_handle(bed->machine, &event, bed->now, &bed->actions));
	assert_true(is_noted(bed, "worker:0 is restarted by the user"));
	bed_destroy(bed);
}

static void test_ends_even_if_a_container_never_does(void **state)
{
	struct bed *bed = running("worker=1");
	bed_exit(bed, "worker:0", 0);
	assert_job(bed, JOB_FINISHING);
	bed_pass(bed, 60000);
	assert_job(bed, JOB_SUCCEEDED);
	bed_destroy(bed);
}

/* ---- pauses ------------------------------------------------------------------------------- */

enum { FIRST_PAUSE_MS = 1000, LOOK_MS = 50 };

/* A bed whose worker may fail as often as it likes, and never counts as silent. */
static struct bed *patient(void)
{
	struct bed *bed = bed_create("worker=1");
	bed->job->retry_count = 100;
	bed->job->infrastructure_retry_count = 100;
	bed->job->retry_delay_ms = FIRST_PAUSE_MS;
	bed->job->max_missed_heartbeats = 1000000;
	bed_submit(bed);
	bed_bring_up(bed, "worker");
	return bed;
}

static int64_t time_until(struct bed *bed, enum task_state state)
{
	int64_t begin = bed->now;
	while (bed_look(bed, "worker:0")->state != state) {
		assert_in_range(bed->now - begin, 0, 100 * FIRST_PAUSE_MS);
		bed_pass(bed, LOOK_MS);
	}
	return bed->now - begin;
}

/* The program fails; what passes until it runs again. */
static int64_t pause_after_failure(struct bed *bed)
{
	bed_exit(bed, "worker:0", 1);
	bed_register(bed, "worker:0");
	int64_t pause = time_until(bed, TASK_RUNNING);
	bed_start(bed, "worker:0");
	return pause;
}

static void check_pause(int64_t pause, int64_t expected)
{
	assert_in_range(pause, expected * 3 / 4, expected * 5 / 4 + LOOK_MS);
}

/* promise: R13 */
static void test_pauses_double_up_to_64_times_the_first(void **state)
{
	static const int64_t times[] = {1, 2, 4, 8, 16, 32, 64, 64, 64};
	struct bed *bed = patient();
	assert_int_equal(pause_after_failure(bed), 0);
	for (size_t i = 0; i < array_length(times); i++)
		check_pause(pause_after_failure(bed), times[i] * FIRST_PAUSE_MS);
	bed_destroy(bed);
}

/* promise: R13 */
static void test_lost_node_has_a_pause_at_once(void **state)
{
	struct bed *bed = patient();
	bed_lose(bed, "worker:0", CAUSE_NODE_LOST);
	check_pause(time_until(bed, TASK_REQUESTED), FIRST_PAUSE_MS);
	bed_destroy(bed);
}

/* promise: R14 */
static void test_a_minute_without_failure_resets_the_pause(void **state)
{
	struct bed *bed = patient();
	for (int i = 0; i < 5; i++)
		pause_after_failure(bed);
	bed_pass(bed, 59000);
	check_pause(pause_after_failure(bed), 16 * FIRST_PAUSE_MS);
	bed_pass(bed, 61000);
	assert_int_equal(pause_after_failure(bed), 0);
	bed_destroy(bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gang_starts_together),
		cmocka_unit_test(test_fcfs_starts_each),
		cmocka_unit_test(test_success_ends_untracked),
		cmocka_unit_test(test_one_survivor_is_no_success),
		cmocka_unit_test(test_chief_failure_fails_at_once),
		cmocka_unit_test(test_stop_on_failure_fails_at_once),
		cmocka_unit_test(test_fail_fast_fails_at_once),
		cmocka_unit_test(test_untracked_failure_fails),
		cmocka_unit_test(test_sidecar_failure_is_ignored),
		cmocka_unit_test(test_first_failure_is_reported),
		cmocka_unit_test(test_retry_keeps_surviving_containers),
		cmocka_unit_test(test_old_registration_does_not_pass_for_a_stop),
		cmocka_unit_test(test_lost_container_is_asked_for_again),
		cmocka_unit_test(test_silent_executor_is_released_before_it_is_replaced),
		cmocka_unit_test(
			test_silence_while_the_am_stood_still_is_not_held_against_an_executor),
		cmocka_unit_test(test_an_am_that_is_always_late_finds_a_lost_executor),
		cmocka_unit_test(
			test_executors_of_one_machine_that_are_lost_together_are_told_once),
		cmocka_unit_test(
			test_an_executor_that_beats_and_does_not_stop_is_not_called_silent),
		cmocka_unit_test(test_restart_in_place),
		cmocka_unit_test(test_web_interface_is_that_of_a_process),
		cmocka_unit_test(test_stale_exit_changes_nothing),
		cmocka_unit_test(test_exit_of_an_earlier_epoch_changes_nothing),
		cmocka_unit_test(test_stages),
		cmocka_unit_test(test_failed_stage_never_releases_the_next),
		cmocka_unit_test(test_finished_stage_is_not_run_again),
		cmocka_unit_test(test_start_order),
		cmocka_unit_test(test_application_timeout),
		cmocka_unit_test(test_half_a_gang_gives_back),
		cmocka_unit_test(test_allocation_timeout_with_nothing_held_fails),
		cmocka_unit_test(test_allocation_timeout_says_what_the_scheduler_waits_for),
		cmocka_unit_test(test_surplus_allocation_is_released),
		cmocka_unit_test(test_a_task_registers_before_its_container_is_known),
		cmocka_unit_test(test_a_container_is_known_after_it_was_given_back),
		cmocka_unit_test(test_refused_gang_member_fails_the_job),
		cmocka_unit_test(test_chief_end_may_end_the_job),
		cmocka_unit_test(test_group_timeout),
		cmocka_unit_test(test_ignored_group_timeout),
		cmocka_unit_test(test_restart_by_user_costs_nothing),
		cmocka_unit_test(test_restart_names_another_user),
		cmocka_unit_test(test_ends_even_if_a_container_never_does),
		cmocka_unit_test(test_pauses_double_up_to_64_times_the_first),
		cmocka_unit_test(test_lost_node_has_a_pause_at_once),
		cmocka_unit_test(test_a_minute_without_failure_resets_the_pause),
	};
	return cmocka_run_group_tests_name("machine", tests, NULL, NULL);
}
