/* The state machine of an AM that follows another: as it was, and it goes on from there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "scene.h"

/* ---- as it was ---------------------------------------------------------------------------- */

/* What an onlooker sees of it all. */
static char *picture(const struct scene *scene)
{
	const struct machine *machine = scene->bed->machine;
	struct machine_status status;
	struct str text = {0};

	machine_status(machine, &status);
	str_append_format(&text, "%s epoch %d retries %d %d streak %d\n",
			  job_state_name(status.state), status.epoch, status.retries_used,
			  status.infrastructure_retries_used, status.streak);
	for (size_t i = 0; i < machine_task_count(machine); i++) {
		const struct task *task = machine_task(machine, i);
		struct order order = machine_order(machine, i);
		str_append_format(&text,
				  "%s attempt %d epoch %d restart %d used %d %s%s%s order %d %d %d "
				  "%s %s:%d %s\n",
				  task_state_name(task->state), task->attempt, task->epoch,
				  task->restart, task->restarts_used, task->process_up ? "up " : "",
				  task->rejoin ? "rejoin " : "",
				  task->restarting ? "restarting" : "", (int)order.kind,
				  order.epoch, order.restart, task->container, task->host,
				  task->port, cause_kind_name(task->cause.kind));
	}
	return str_steal(&text);
}

/* "request 0, release 1": what a resumed machine wants done. */
static char *wishes(const struct bed *bed)
{
	static const char *const names[ACTION_KIND_COUNT] = {
		[ACTION_REQUEST] = "request", [ACTION_CANCEL] = "cancel",
		[ACTION_LAUNCH] = "launch",   [ACTION_ORDER] = "order",
		[ACTION_RELEASE] = "release", [ACTION_AVOID] = "avoid"};
	struct str text = {0};

	for (size_t i = 0; i < bed->actions.count; i++) {
		const struct action *action = &bed->actions.items[i];
		if (action->kind == ACTION_EPOCH)
			str_append(&text, "epoch ");
		else
			str_append_format(&text, "%s %zu ", names[action->kind], action->task);
	}
	return str_steal(&text);
}

/* worker=2, a restart in place for each, a retry, two infrastructure retries. */
static const struct {
	const char *steps;
	const char *states; /* job, worker:0, worker:1 */
	const char *wishes;
} table[] = {
	{"", "forming requested requested", "request 0 request 1 "},
	{"a0", "forming launching requested", "request 1 "},
	{"a0 r0", "forming registered requested", "request 1 "},
	{"a0 r0 a1", "forming registered launching", ""},
	{"r0", "forming registered requested", "request 1 "},
	{"r0 a0 a1", "forming registered launching", ""},
	{"r0 r1 s0 s1 x0", "running succeeded running", "epoch release 0 "},
	{"r0 r1 s0 s1 l0", "reforming lost stopping", "release 0 "},
	{"a0 r0 a1 r1", "running running running", "epoch "},
	{"a0 r0 a1 r1 s0", "running running running", "epoch "},
	{"a0 r0 a1 r1 s0 s1 x0", "running succeeded running", "epoch release 0 "},
	{"a0 r0 a1 r1 s0 s1 x0 g0", "running succeeded running", "epoch release 0 "},
	{"a0 r0 a1 r1 s0 s1 f0", "running running running", "epoch "},
	{"a0 r0 a1 r1 s0 s1 f0 s0 f0", "reforming stopping stopping", ""},
	{"a0 r0 a1 r1 s0 s1 f0 s0 f0 r0", "reforming registered stopping", ""},
	{"a0 r0 a1 r1 s0 s1 f0 s0 f0 r0 r1", "running running running", "epoch "},
	{"a0 r0 a1 r1 s0 s1 x0 f1 s1 f1", "reforming succeeded stopping", "release 0 "},
	{"a0 r0 a1 r1 s0 s1 l0", "reforming lost stopping", "release 0 "},
	{"a0 r0 l0", "forming lost requested", "release 0 request 1 "},
	{"a0 r0 a1 r1 f0 f1 s0 f0 r0 r1 s0 s1 f1", "finishing stopped failed",
	 "release 0 release 1 "},
	{"a0 r0 a1 r1 s0 s1 x0 x1", "finishing succeeded succeeded", "release 0 release 1 "},
	{"a0 r0 a1 r1 s0 s1 x0 g0 x1 g1", "succeeded succeeded succeeded", ""},
};

static char *states(const struct bed *bed)
{
	return mem_printf("%s %s %s", job_state_name(bed_status(bed).state),
			  task_state_name(bed_look(bed, "worker:0")->state),
			  task_state_name(bed_look(bed, "worker:1")->state));
}

/* promise: R35 */
static void every_state_is_restored(void **state)
{
	for (size_t i = 0; i < array_length(table); i++) {
		struct scene scene = scene_begin("worker=2");
		bed_type(scene.bed, "worker")->max_restarts = 1;
		scene_submit(&scene);
		scene_play(&scene, table[i].steps);
		char *found cleanup_free = states(scene.bed);
		assert_string_equal(found, table[i].states);
		char *before cleanup_free = picture(&scene);
		scene_restart(&scene);
		char *after cleanup_free = picture(&scene);
		assert_string_equal(after, before);
		char *wanted cleanup_free = wishes(scene.bed);
		assert_string_equal(wanted, table[i].wishes);
		scene_end(&scene);
	}
}

/* ---- it goes on --------------------------------------------------------------------------- */

static void what_was_asked_for_is_given_to_the_next_am(void **state)
{
	struct scene scene = scene_begin("worker=2");

	scene_submit(&scene);
	scene_play(&scene, "a0 r0");
	scene_restart(&scene);
	scene_play(&scene, "r0 a1 r1");
	assert_int_equal(bed_status(scene.bed).state, JOB_RUNNING);
	assert_int_equal(bed_look(scene.bed, "worker:1")->attempt, 1);
	scene_end(&scene);
}

static void an_executor_that_is_heard_of_again_is_no_news(void **state)
{
	struct scene scene = scene_begin("worker=2");

	scene_submit(&scene);
	scene_play(&scene, "a0 r0 a1 r1 s0 s1");
	scene_restart(&scene);
	scene_play(&scene, "r0 s0 r1 s1");
	bed_pass(scene.bed, 20000);
	assert_int_equal(bed_status(scene.bed).state, JOB_RUNNING);
	assert_int_equal(bed_status(scene.bed).epoch, 1);
	scene_play(&scene, "x0 x1 g0 g1");
	assert_int_equal(bed_status(scene.bed).state, JOB_SUCCEEDED);
	scene_end(&scene);
}

/* An executor has as long as ever to be heard of, however long there was no AM. */
static void time_without_an_am_counts_against_nobody(void **state)
{
	struct scene scene = scene_begin("worker=3");

	scene.bed->job->registration_timeout_ms = 60000;
	scene.bed->job->allocation_timeout_ms = 60000;
	scene_submit(&scene);
	scene_play(&scene, "a0 r0 a1");
	scene_restart_after(&scene, 3600000, 3600000);
	bed_pass(scene.bed, 20000);
	scene_play(&scene, "r0 r1 a2 r2");
	assert_int_equal(bed_status(scene.bed).state, JOB_RUNNING);
	assert_int_equal(bed_status(scene.bed).infrastructure_retries_used, 0);
	scene_end(&scene);
}

static void one_that_stops_has_its_time_again(void **state)
{
	struct scene scene = scene_begin("worker=2");

	scene_submit(&scene);
	scene_play(&scene, "a0 r0 a1 r1 s0 s1 f0");
	scene_restart_after(&scene, 3600000, 3600000);
	bed_pass(scene.bed, 10000);
	assert_int_equal(bed_look(scene.bed, "worker:1")->state, TASK_STOPPING);
	bed_pass(scene.bed, 60000);
	assert_int_not_equal(bed_look(scene.bed, "worker:1")->state, TASK_STOPPING);
	scene_end(&scene);
}

static void the_application_timeout_counts_from_the_first_am(void **state)
{
	struct scene scene = scene_begin("worker=1");

	scene.bed->job->application_timeout_ms = 100000;
	scene_submit(&scene);
	scene_play(&scene, "a0 r0 s0");
	scene_restart_after(&scene, 90000, 90000);
	bed_pass(scene.bed, 5000);
	assert_int_equal(bed_status(scene.bed).state, JOB_RUNNING);
	bed_beat(scene.bed, "worker:0");
	bed_pass(scene.bed, 5000);
	assert_int_equal(bed_status(scene.bed).state, JOB_FINISHING);
	assert_int_equal(bed_status(scene.bed).cause->kind, CAUSE_APPLICATION_TIMEOUT);
	scene_end(&scene);
}

/* promise: R35 */
static void a_retry_is_paid_for_once(void **state)
{
	struct scene scene = scene_begin("worker=1");

	scene_submit(&scene);
	scene_play(&scene, "a0 r0 s0 f0");
	scene_restart(&scene);
	assert_int_equal(bed_status(scene.bed).retries_used, 1);
	assert_int_equal(bed_status(scene.bed).cause_task, 0);
	scene_play(&scene, "r0");
	assert_int_equal(bed_status(scene.bed).cause_task, -1);
	scene_restart(&scene);
	scene_play(&scene, "s0 f0");
	assert_int_equal(bed_status(scene.bed).state, JOB_FINISHING);
	assert_int_equal(bed_status(scene.bed).outcome, JOB_FAILED);
	assert_int_equal(bed_status(scene.bed).cause_task, 0);
	scene_end(&scene);
}

/* promise: R35 */
static void restarts_in_place_are_counted_on(void **state)
{
	struct scene scene = scene_begin("worker=1");

	scene.bed->job->retry_count = 0;
	bed_type(scene.bed, "worker")->max_restarts = 1;
	scene_submit(&scene);
	scene_play(&scene, "a0 r0 s0 f0 s0");
	scene_restart(&scene);
	assert_int_equal(bed_look(scene.bed, "worker:0")->restart, 1);
	scene_play(&scene, "f0");
	assert_int_equal(bed_status(scene.bed).outcome, JOB_FAILED);
	scene_end(&scene);
}

/* The second restart in place waits. */
static void a_restart_in_place_waits_as_long_as_it_would_have(void **state)
{
	struct scene scene = scene_begin("worker=2");

	scene.bed->job->retry_delay_ms = 10000;
	bed_type(scene.bed, "worker")->max_restarts = 3;
	scene_submit(&scene);
	scene_play(&scene, "a0 r0 a1 r1 s0 s1 f0 s0 f0");
	assert_true(bed_look(scene.bed, "worker:0")->restarting);
	scene_restart_after(&scene, 3000, 3000);
	assert_true(bed_look(scene.bed, "worker:0")->restarting);
	bed_pass(scene.bed, 3000);
	assert_int_equal(bed_look(scene.bed, "worker:0")->state, TASK_REGISTERED);
	bed_pass(scene.bed, 7000);
	assert_int_equal(bed_look(scene.bed, "worker:0")->state, TASK_RUNNING);
	assert_int_equal(bed_look(scene.bed, "worker:0")->restart, 2);
	scene_end(&scene);
}

/* The job forms anew meanwhile: it waits at the barrier like the others. */
static void one_that_does_not_restart_in_place_any_more_waits_for_the_others(void **state)
{
	struct scene scene = scene_begin("worker=2");

	scene.bed->job->retry_delay_ms = 10000;
	bed_type(scene.bed, "worker")->max_restarts = 3;
	scene_submit(&scene);
	scene_play(&scene, "a0 r0 a1 r1 s0 s1 f0 s0 f0 l1");
	assert_false(bed_look(scene.bed, "worker:0")->restarting);
	scene_restart_after(&scene, 20000, 20000);
	assert_false(bed_look(scene.bed, "worker:0")->restarting);
	bed_pass(scene.bed, 10);
	assert_int_equal(bed_look(scene.bed, "worker:0")->state, TASK_REGISTERED);
	scene_end(&scene);
}

/* promise: R35 */
static void a_pause_lasts_as_long_as_it_would_have(void **state)
{
	struct scene scene = scene_begin("worker=2");

	scene.bed->job->retry_delay_ms = 10000;
	scene_submit(&scene);
	scene_play(&scene, "a0 r0 a1 r1 s0 s1 l0"); /* 7.5 to 12.5 s */
	scene_restart_after(&scene, 3000, 3000);
	bed_gone(scene.bed, "worker:0");
	bed_pass(scene.bed, 4000);
	assert_int_equal(bed_look(scene.bed, "worker:0")->state, TASK_LOST);
	bed_pass(scene.bed, 6000);
	assert_int_equal(bed_look(scene.bed, "worker:0")->state, TASK_REQUESTED);
	scene_end(&scene);
}

/* A wall clock that is set back, or far ahead, while there is no AM. */
/* promise: R56 */
static void a_clock_that_jumps_does_no_harm(void **state)
{
	static const int64_t jumps[] = {-864000000, 864000000};

	for (size_t i = 0; i < array_length(jumps); i++) {
		struct scene scene = scene_begin("worker=2");
		scene.bed->job->registration_timeout_ms = 60000;
		scene.bed->job->allocation_timeout_ms = 60000;
		scene_submit(&scene);
		scene_play(&scene, "a0 r0 a1 r1 s0 s1 l0");
		scene_restart_after(&scene, 100, jumps[i]);
		bed_gone(scene.bed, "worker:0");
		bed_pass(scene.bed, 2000);
		assert_int_equal(bed_look(scene.bed, "worker:0")->state, TASK_REQUESTED);
		scene_play(&scene, "a0 r0 r1 s0 s1");
		assert_int_equal(bed_status(scene.bed).state, JOB_RUNNING);
		assert_int_equal(bed_status(scene.bed).epoch, 2);
		scene_end(&scene);
	}
}

/* ---- containers --------------------------------------------------------------------------- */

static void a_container_that_ended_meanwhile_is_replaced(void **state)
{
	struct scene scene = scene_begin("worker=2");

	scene_submit(&scene);
	scene_play(&scene, "a0 r0 a1 r1 s0 s1");
	scene_restart(&scene);
	scene_play(&scene, "l1");
	assert_int_equal(bed_status(scene.bed).state, JOB_REFORMING);
	assert_int_equal(bed_status(scene.bed).infrastructure_retries_used, 1);
	scene_end(&scene);
}

/* It may be that nobody came to launch it. */
static void a_container_that_was_not_launched_costs_nothing(void **state)
{
	struct scene scene = scene_begin("worker=1");

	scene_submit(&scene);
	scene_play(&scene, "a0");
	scene_restart(&scene);
	scene_play(&scene, "g0");
	assert_int_equal(bed_look(scene.bed, "worker:0")->state, TASK_REQUESTED);
	assert_int_equal(bed_look(scene.bed, "worker:0")->attempt, 2);
	assert_int_equal(bed_status(scene.bed).infrastructure_retries_used, 0);
	scene_play(&scene, "a0 g0");
	assert_int_equal(bed_status(scene.bed).infrastructure_retries_used, 1);
	scene_end(&scene);
}

/* The end of a job waits for containers that an earlier AM had. */
static void a_job_that_ends_waits_for_every_container(void **state)
{
	struct scene scene = scene_begin("worker=2");

	scene_submit(&scene);
	scene_play(&scene, "a0 r0 a1 r1 s0 s1 x0 g0 x1");
	scene_restart(&scene);
	scene_play(&scene, "g0");
	assert_int_equal(bed_status(scene.bed).state, JOB_FINISHING);
	scene_play(&scene, "g1");
	assert_int_equal(bed_status(scene.bed).state, JOB_SUCCEEDED);
	scene_end(&scene);
}

static void a_job_that_ends_does_not_wait_for_ever(void **state)
{
	struct scene scene = scene_begin("worker=1");

	scene_submit(&scene);
	scene_play(&scene, "a0 r0 s0 x0");
	scene_restart_after(&scene, 3600000, 3600000);
	bed_pass(scene.bed, 10000);
	assert_int_equal(bed_status(scene.bed).state, JOB_FINISHING);
	bed_pass(scene.bed, 60000);
	assert_int_equal(bed_status(scene.bed).state, JOB_SUCCEEDED);
	scene_end(&scene);
}

/* ---- types -------------------------------------------------------------------------------- */

static void stages_stay_in_order(void **state)
{
	struct scene scene = scene_begin("worker=1 later=1");

	bed_depend(scene.bed, "later", "worker", false);
	scene_submit(&scene);
	scene_play(&scene, "a0 r0 s0");
	scene_restart(&scene);
	assert_int_equal(bed_look(scene.bed, "later:0")->state, TASK_WAITING);
	scene_play(&scene, "x0");
	assert_int_equal(bed_look(scene.bed, "later:0")->state, TASK_REQUESTED);
	scene_restart(&scene);
	assert_true(bed_acted(scene.bed, ACTION_REQUEST, "later:0"));
	scene_end(&scene);
}

/* worker must end within 10 s of the board, or is not waited for; the third goes on. */
static struct scene begin_with_group(int third)
{
	struct scene scene = scene_begin(third ? "worker=1 board=1 third=1" : "worker=1 board=1");
	struct job_group_timeout *timeout = mem_alloc(sizeof(*timeout));

	*timeout = (struct job_group_timeout){.type = 0,
					      .group = mem_strdup("boards"),
					      .members = mem_alloc(sizeof(*timeout->members)),
					      .member_count = 1,
					      .timeout_ms = 10000,
					      .ignored = third};
	timeout->members[0] = 1;
	scene.bed->job->group_timeouts = timeout;
	scene.bed->job->group_timeout_count = 1;
	scene_submit(&scene);
	for (const char *what = "ars"; *what; what++) {
		scene_step(&scene, *what, "worker:0");
		scene_step(&scene, *what, "board:0");
		if (third)
			scene_step(&scene, *what, "third:0");
	}
	scene_step(&scene, 's', "worker:0");
	scene_step(&scene, 's', "board:0");
	scene_step(&scene, 'x', "board:0");
	return scene;
}

static void a_group_timeout_goes_on(void **state)
{
	struct scene scene = begin_with_group(0);

	scene_restart_after(&scene, 6000, 6000);
	bed_pass(scene.bed, 3000);
	assert_int_equal(bed_status(scene.bed).state, JOB_RUNNING);
	bed_beat(scene.bed, "worker:0");
	bed_pass(scene.bed, 3000);
	assert_int_equal(bed_status(scene.bed).cause->kind, CAUSE_GROUP_TIMEOUT);
	scene_end(&scene);
}

static void who_is_not_waited_for_is_not_waited_for_later(void **state)
{
	struct scene scene = begin_with_group(1);

	bed_stand_still(scene.bed, 10500);
	scene_write_down(&scene);
	assert_true(machine_type_is_exempt(scene.bed->machine, 0));
	scene_restart(&scene);
	assert_true(machine_type_is_exempt(scene.bed->machine, 0));
	scene_step(&scene, 's', "third:0");
	scene_step(&scene, 'x', "third:0");
	assert_int_equal(bed_status(scene.bed).outcome, JOB_SUCCEEDED);
	scene_end(&scene);
}

/* ---- beginnings, ends and oddities -------------------------------------------------------- */

static void a_job_that_never_began_is_a_new_one(void **state)
{
	struct scene scene = scene_begin("worker=1");

	scene.bed->machine = machine_create(scene.bed->job, 1);
	scene_restart(&scene);
	assert_int_equal(scene.bed->actions.count, 0);
	assert_int_equal(bed_status(scene.bed).state, JOB_SUBMITTED);
	machine_handle(scene.bed->machine, &(struct machine_event){.kind = EVENT_SUBMIT},
		       scene.bed->now, &scene.bed->actions);
	assert_true(bed_acted(scene.bed, ACTION_REQUEST, "worker:0"));
	scene_end(&scene);
}

/* A record as no AM writes it. */
static void add_odd(struct scene *scene, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *text cleanup_free = mem_vprintf(format, args);
	va_end(args);
	scene_add(scene, json_loads(text, 0, NULL));
}

static void odd_states_do_not_stop_a_job(void **state)
{
	static const char *const odd[] = {"waiting",	"requested", "allocated", "launching",
					  "registered", "running",   "stopping",  "succeeded",
					  "failed",	"lost",	     "stopped"};

	for (size_t i = 0; i < array_length(odd) * 2; i++) {
		struct scene scene = scene_begin("worker=2");
		scene.bed->job->allocation_timeout_ms = 600000;
		scene.bed->job->registration_timeout_ms = 60000;
		scene_submit(&scene);
		scene_play(&scene, "a0 r0 a1 r1 s0 s1");
		add_odd(&scene,
			"{\"ev\":\"task\",\"task\":\"worker:1\",\"to\":\"%s\","
			"\"attempt\":2147483647,\"restart\":2147483647,\"restarting\":true%s}",
			odd[i / 2], i % 2 ? ",\"container\":\"c\"" : "");
		scene_restart(&scene);
		for (int round = 0; round < 200; round++) {
			bed_drain(scene.bed);
			bed_pass(scene.bed, 30000);
			scene_play(&scene, "a0 a1 r0 r1 s0 s1 x0 x1");
		}
		assert_true(job_state_is_final(bed_status(scene.bed).state));
		scene_end(&scene);
	}
}

static void an_end_without_an_outcome_is_a_failure(void **state)
{
	struct scene scene = scene_begin("worker=1");

	scene_submit(&scene);
	scene_play(&scene, "a0 r0 s0");
	add_odd(&scene, "{\"ev\":\"job\",\"to\":\"finishing\"}");
	scene_restart(&scene);
	assert_int_equal(bed_look(scene.bed, "worker:0")->state, TASK_STOPPED);
	assert_true(bed_acted(scene.bed, ACTION_RELEASE, "worker:0"));
	scene_play(&scene, "g0");
	assert_int_equal(bed_status(scene.bed).state, JOB_FAILED);
	scene_end(&scene);
}

/* A lost worker's own pause, the slots that nobody wants any more, and how many are wanted. */
/* promise: R35 */
static void elastic_types_are_as_they_were(void **state)
{
	struct bed *bed = bed_create("worker=3");
	bed_type(bed, "worker")->min_instances = 1;
	bed_type(bed, "worker")->max_instances = 5;
	bed->job->elastic_settle_ms = 1000;
	struct scene scene = {
		.bed = bed, .view = job_view_create(bed->job), .wall_at_zero = SCENE_WALL_MS};

	scene_submit(&scene);
	scene_play(&scene, "a0 r0 a1 r1 a2 r2 s0 s1 s2");
	assert_true(bed_scale(bed, "worker", 2));
	scene_write_down(&scene);
	scene_play(&scene, "r0 r1 s0 s1 l1");
	int64_t left = bed_look(bed, "worker:1")->ask_not_before - bed->now;
	char *before cleanup_free = picture(&scene);
	scene_restart_after(&scene, 500, 500);
	char *after cleanup_free = picture(&scene);
	assert_string_equal(after, before);
	assert_int_equal(machine_wanted(bed->machine, 0), 2);
	assert_int_equal(bed_look(bed, "worker:2")->state, TASK_STOPPED);
	assert_int_equal(bed_look(bed, "worker:3")->state, TASK_WAITING);
	assert_int_equal(bed_look(bed, "worker:1")->misses, 1);
	assert_int_equal(bed_look(bed, "worker:1")->ask_not_before - bed->now, left - 500);
	scene_play(&scene, "r0 g1"); /* the one that is left goes on alone */
	assert_int_equal(bed_look(bed, "worker:0")->state, TASK_REGISTERED);
	bed_pass(bed, 1000);
	assert_int_equal(bed_look(bed, "worker:0")->state, TASK_RUNNING);
	assert_int_equal(bed_look(bed, "worker:1")->state, TASK_REQUESTED);
	scene_end(&scene);
}

/* ---- what no store had taken ---------------------------------------------------------------- */

/* Worker 0 fails, and all form anew in epoch 2; then another AM comes. */
static struct scene forget_an_epoch(const char *steps)
{
	struct scene scene = scene_begin("worker=2");

	scene_submit(&scene);
	scene_play(&scene, "a0 r0 a1 r1 s0 s1");
	scene.is_out = true;
	scene_play(&scene, steps);
	assert_int_equal(bed_status(scene.bed).epoch, 2);
	scene.is_out = false;
	scene_restart(&scene);
	assert_int_equal(bed_status(scene.bed).epoch, 1);
	return scene;
}

static void expect_epoch(const struct scene *scene, int epoch)
{
	assert_int_equal(bed_status(scene->bed).state, JOB_RUNNING);
	assert_int_equal(bed_status(scene->bed).epoch, epoch);
	assert_int_equal(bed_look(scene->bed, "worker:0")->epoch, epoch);
	assert_int_equal(bed_look(scene->bed, "worker:1")->epoch, epoch);
}

/* promise: R69 */
static void an_epoch_that_no_store_has_taken_makes_the_cluster_form_anew(void **state)
{
	struct scene scene = forget_an_epoch("f0 r0 r1 s0 s1");
	struct bed *bed = scene.bed;

	assert_true(bed_register_in(bed, "worker:1", 2, 2));
	assert_int_equal(bed_look(bed, "worker:0")->state, TASK_STOPPING);
	assert_int_equal(bed_look(bed, "worker:1")->state, TASK_STOPPING);
	assert_true(bed_register_in(bed, "worker:0", 2, 2)); /* it runs by the lost cluster spec */
	assert_int_equal(bed_look(bed, "worker:0")->state, TASK_STOPPING);
	assert_int_equal(bed_status(bed).retries_used, 0);
	scene_play(&scene, "r0 r1 s0 s1");
	expect_epoch(&scene, 3);
	scene_play(&scene, "x0 x1 g0 g1");
	assert_int_equal(bed_status(bed).state, JOB_SUCCEEDED);
	scene_end(&scene);
}

/* An executor that waits in that epoch would not obey an order of an earlier one. */
static void executors_that_wait_in_an_epoch_that_no_store_has_taken_are_started(void **state)
{
	struct scene scene = forget_an_epoch("f0 r0");
	struct bed *bed = scene.bed;

	assert_true(bed_register_in(bed, "worker:0", 2, 0));
	assert_true(bed_register_in(bed, "worker:1", 0, 1));
	scene_play(&scene, "r0 r1 s0 s1");
	expect_epoch(&scene, 3);
	scene_end(&scene);
}

/* Its end counts for nothing: the others' cluster spec is not the one that it had. */
static void the_end_of_a_process_that_no_store_has_taken_is_no_end(void **state)
{
	struct scene scene = forget_an_epoch("f0 r0 r1 s0 s1");
	struct bed *bed = scene.bed;

	assert_true(bed_start_of(bed, "worker:0", 2, 0));
	assert_int_equal(bed_look(bed, "worker:0")->state, TASK_STOPPING);
	assert_int_equal(bed_status(bed).epoch, 3);
	scene_end(&scene);
}

/* promise: R69 */
static void a_restart_that_no_store_has_taken_is_taken_over(void **state)
{
	struct scene scene = scene_begin("worker=1");
	struct bed *bed = scene.bed;

	bed_type(bed, "worker")->max_restarts = 1;
	scene_submit(&scene);
	scene_play(&scene, "a0 r0 s0");
	scene.is_out = true;
	scene_play(&scene, "f0 s0");
	scene.is_out = false;
	scene_restart(&scene);
	assert_int_equal(bed_look(bed, "worker:0")->restart, 0);
	assert_true(bed_register_in(bed, "worker:0", 0, 1));
	assert_true(bed_start_of(bed, "worker:0", 1, 1));
	assert_int_equal(bed_look(bed, "worker:0")->restart, 1);
	assert_true(bed_look(bed, "worker:0")->process_up);
	assert_int_equal(bed_status(bed).epoch, 1);
	scene_play(&scene, "x0 g0");
	assert_int_equal(bed_status(bed).state, JOB_SUCCEEDED);
	scene_end(&scene);
}

/* It might run a process by now that only the AM before knew of. */
static void the_barrier_waits_for_executors_that_registered_with_the_am_before(void **state)
{
	struct scene scene = scene_begin("worker=2");
	struct bed *bed = scene.bed;

	scene_submit(&scene);
	scene_play(&scene, "a0 r0 a1");
	scene_restart(&scene);
	scene_play(&scene, "r1");
	assert_int_equal(bed_look(bed, "worker:1")->state, TASK_REGISTERED);
	scene_play(&scene, "r0");
	assert_int_equal(bed_look(bed, "worker:1")->state, TASK_RUNNING);
	scene_end(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_state_is_restored),
		cmocka_unit_test(what_was_asked_for_is_given_to_the_next_am),
		cmocka_unit_test(an_executor_that_is_heard_of_again_is_no_news),
		cmocka_unit_test(time_without_an_am_counts_against_nobody),
		cmocka_unit_test(one_that_stops_has_its_time_again),
		cmocka_unit_test(the_application_timeout_counts_from_the_first_am),
		cmocka_unit_test(a_retry_is_paid_for_once),
		cmocka_unit_test(restarts_in_place_are_counted_on),
		cmocka_unit_test(a_restart_in_place_waits_as_long_as_it_would_have),
		cmocka_unit_test(one_that_does_not_restart_in_place_any_more_waits_for_the_others),
		cmocka_unit_test(a_pause_lasts_as_long_as_it_would_have),
		cmocka_unit_test(a_clock_that_jumps_does_no_harm),
		cmocka_unit_test(a_container_that_ended_meanwhile_is_replaced),
		cmocka_unit_test(a_container_that_was_not_launched_costs_nothing),
		cmocka_unit_test(a_job_that_ends_waits_for_every_container),
		cmocka_unit_test(a_job_that_ends_does_not_wait_for_ever),
		cmocka_unit_test(stages_stay_in_order),
		cmocka_unit_test(a_group_timeout_goes_on),
		cmocka_unit_test(who_is_not_waited_for_is_not_waited_for_later),
		cmocka_unit_test(a_job_that_never_began_is_a_new_one),
		cmocka_unit_test(odd_states_do_not_stop_a_job),
		cmocka_unit_test(an_end_without_an_outcome_is_a_failure),
		cmocka_unit_test(elastic_types_are_as_they_were),
		cmocka_unit_test(an_epoch_that_no_store_has_taken_makes_the_cluster_form_anew),
		cmocka_unit_test(
			executors_that_wait_in_an_epoch_that_no_store_has_taken_are_started),
		cmocka_unit_test(the_end_of_a_process_that_no_store_has_taken_is_no_end),
		cmocka_unit_test(a_restart_that_no_store_has_taken_is_taken_over),
		cmocka_unit_test(
			the_barrier_waits_for_executors_that_registered_with_the_am_before),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
