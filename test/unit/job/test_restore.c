/* The state machine of an AM that follows another: as it was, and it goes on from there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "job/record.h"
#include "job/view.h"
#include "machine_bed.h"

#define WALL 1795241651000 /* when the bed's clock stood at 0 */

/* A bed whose every action leaves a line, as in an AM; the next AM has another clock. */
struct scene {
	struct bed *bed;
	struct job_view *view;
	int64_t wall_at_zero;
};

static void add(struct scene *scene, json_t *record)
{
	struct err err cleanup_err = {0};
	char *text cleanup_free = json_text(record);
	struct journal_line line = {.sequence = scene->view->sequence + 1,
				    .time_ms = scene->bed->now + scene->wall_at_zero,
				    .text = text,
				    .length = strlen(text)};

	json_decref(record);
	assert_int_equal(job_view_add(scene->view, &line, &err), 0);
}

static void write_down(struct scene *scene)
{
	const struct bed *bed = scene->bed;

	for (size_t i = 0; i < bed->actions.count; i++) {
		const struct action *action = &bed->actions.items[i];
		if (action->kind == ACTION_TASK_CHANGED)
			add(scene, record_task(bed->job, machine_task(bed->machine, action->task),
					       (enum task_state)action->from,
					       (enum task_state)action->to, NULL));
		else if (action->kind == ACTION_JOB_CHANGED)
			add(scene, record_job(bed->job, bed->machine, (enum job_state)action->from,
					      (enum job_state)action->to));
	}
}

static struct scene begin(const char *types)
{
	struct bed *bed = bed_create(types);

	bed->job->retry_count = 1;
	bed->job->infrastructure_retry_count = 2;
	bed->job->fail_fast = true;
	return (struct scene){.bed = bed, .view = job_view_create(bed->job), .wall_at_zero = WALL};
}

static void submit(struct scene *scene)
{
	bed_submit(scene->bed);
	write_down(scene);
}

static void end(struct scene *scene)
{
	job_view_destroy(scene->view);
	bed_destroy(scene->bed);
}

static void step(struct scene *scene, char what, const char *name)
{
	struct bed *bed = scene->bed;

	bed->now += 10;
	switch (what) {
	case 'a':
		bed_allocate(bed, name);
		break;
	case 'r':
		bed_register(bed, name);
		break;
	case 's':
		bed_start(bed, name);
		break;
	case 'x':
		bed_exit(bed, name, 0);
		break;
	case 'f':
		bed_exit(bed, name, 3);
		break;
	case 'l':
		bed_lose(bed, name, CAUSE_NODE_LOST);
		break;
	case 'g':
		bed_gone(bed, name);
		break;
	default:
		fail_msg("no step %c", what);
	}
	write_down(scene);
}

/* "a0 r0": allocated, registered, started, exited well, failed, lost or gone, of task 0. */
static void play(struct scene *scene, const char *steps)
{
	for (const char *at = steps; *at; at += at[2] ? 3 : 2) {
		const char name[] = {'w', 'o', 'r', 'k', 'e', 'r', ':', at[1], '\0'};
		step(scene, at[0], name);
	}
}

/* Another AM comes `later`, when the wall clock has gone on by `wall` ms. */
static void restart_after(struct scene *scene, int64_t later, int64_t wall)
{
	struct bed *bed = scene->bed;
	int64_t wall_now = bed->now + scene->wall_at_zero + wall;

	machine_destroy(bed->machine);
	bed->now = 500 + later; /* on a machine that has just come up */
	scene->wall_at_zero = wall_now - bed->now;
	bed->machine = machine_restore(bed->job, 2, scene->view, bed->now, wall_now);
	action_list_clear(&bed->actions);
	machine_resume(bed->machine, bed->now, &bed->actions);
	write_down(scene);
}

static void restart(struct scene *scene)
{
	restart_after(scene, 100, 100);
}

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

static void every_state_is_restored(void **state)
{
	for (size_t i = 0; i < array_length(table); i++) {
		struct scene scene = begin("worker=2");
		bed_type(scene.bed, "worker")->max_restarts = 1;
		submit(&scene);
		play(&scene, table[i].steps);
		char *found cleanup_free = states(scene.bed);
		assert_string_equal(found, table[i].states);
		char *before cleanup_free = picture(&scene);
		restart(&scene);
		char *after cleanup_free = picture(&scene);
		assert_string_equal(after, before);
		char *wanted cleanup_free = wishes(scene.bed);
		assert_string_equal(wanted, table[i].wishes);
		end(&scene);
	}
}

/* ---- it goes on --------------------------------------------------------------------------- */

static void what_was_asked_for_is_given_to_the_next_am(void **state)
{
	struct scene scene = begin("worker=2");

	submit(&scene);
	play(&scene, "a0 r0");
	restart(&scene);
	play(&scene, "a1 r1");
	assert_int_equal(bed_status(scene.bed).state, JOB_RUNNING);
	assert_int_equal(bed_look(scene.bed, "worker:1")->attempt, 1);
	end(&scene);
}

static void an_executor_that_is_heard_of_again_is_no_news(void **state)
{
	struct scene scene = begin("worker=2");

	submit(&scene);
	play(&scene, "a0 r0 a1 r1 s0 s1");
	restart(&scene);
	play(&scene, "r0 s0 r1 s1");
	bed_pass(scene.bed, 20000);
	assert_int_equal(bed_status(scene.bed).state, JOB_RUNNING);
	assert_int_equal(bed_status(scene.bed).epoch, 1);
	play(&scene, "x0 x1 g0 g1");
	assert_int_equal(bed_status(scene.bed).state, JOB_SUCCEEDED);
	end(&scene);
}

/* An executor has as long as ever to be heard of, however long there was no AM. */
static void time_without_an_am_counts_against_nobody(void **state)
{
	struct scene scene = begin("worker=3");

	scene.bed->job->registration_timeout_ms = 60000;
	scene.bed->job->allocation_timeout_ms = 60000;
	submit(&scene);
	play(&scene, "a0 r0 a1");
	restart_after(&scene, 3600000, 3600000);
	bed_pass(scene.bed, 20000);
	play(&scene, "r0 r1 a2 r2");
	assert_int_equal(bed_status(scene.bed).state, JOB_RUNNING);
	assert_int_equal(bed_status(scene.bed).infrastructure_retries_used, 0);
	end(&scene);
}

static void one_that_stops_has_its_time_again(void **state)
{
	struct scene scene = begin("worker=2");

	submit(&scene);
	play(&scene, "a0 r0 a1 r1 s0 s1 f0");
	restart_after(&scene, 3600000, 3600000);
	bed_pass(scene.bed, 10000);
	assert_int_equal(bed_look(scene.bed, "worker:1")->state, TASK_STOPPING);
	bed_pass(scene.bed, 60000);
	assert_int_not_equal(bed_look(scene.bed, "worker:1")->state, TASK_STOPPING);
	end(&scene);
}

static void the_application_timeout_counts_from_the_first_am(void **state)
{
	struct scene scene = begin("worker=1");

	scene.bed->job->application_timeout_ms = 100000;
	submit(&scene);
	play(&scene, "a0 r0 s0");
	restart_after(&scene, 90000, 90000);
	bed_pass(scene.bed, 5000);
	assert_int_equal(bed_status(scene.bed).state, JOB_RUNNING);
	bed_beat(scene.bed, "worker:0");
	bed_pass(scene.bed, 5000);
	assert_int_equal(bed_status(scene.bed).state, JOB_FINISHING);
	assert_int_equal(bed_status(scene.bed).cause->kind, CAUSE_APPLICATION_TIMEOUT);
	end(&scene);
}

static void a_retry_is_paid_for_once(void **state)
{
	struct scene scene = begin("worker=1");

	submit(&scene);
	play(&scene, "a0 r0 s0 f0");
	restart(&scene);
	assert_int_equal(bed_status(scene.bed).retries_used, 1);
	assert_int_equal(bed_status(scene.bed).cause_task, 0);
	play(&scene, "r0");
	assert_int_equal(bed_status(scene.bed).cause_task, -1);
	restart(&scene);
	play(&scene, "s0 f0");
	assert_int_equal(bed_status(scene.bed).state, JOB_FINISHING);
	assert_int_equal(bed_status(scene.bed).outcome, JOB_FAILED);
	assert_int_equal(bed_status(scene.bed).cause_task, 0);
	end(&scene);
}

static void restarts_in_place_are_counted_on(void **state)
{
	struct scene scene = begin("worker=1");

	scene.bed->job->retry_count = 0;
	bed_type(scene.bed, "worker")->max_restarts = 1;
	submit(&scene);
	play(&scene, "a0 r0 s0 f0 s0");
	restart(&scene);
	assert_int_equal(bed_look(scene.bed, "worker:0")->restart, 1);
	play(&scene, "f0");
	assert_int_equal(bed_status(scene.bed).outcome, JOB_FAILED);
	end(&scene);
}

/* The second restart in place waits. */
static void a_restart_in_place_waits_as_long_as_it_would_have(void **state)
{
	struct scene scene = begin("worker=2");

	scene.bed->job->retry_delay_ms = 10000;
	bed_type(scene.bed, "worker")->max_restarts = 3;
	submit(&scene);
	play(&scene, "a0 r0 a1 r1 s0 s1 f0 s0 f0");
	assert_true(bed_look(scene.bed, "worker:0")->restarting);
	restart_after(&scene, 3000, 3000);
	assert_true(bed_look(scene.bed, "worker:0")->restarting);
	bed_pass(scene.bed, 3000);
	assert_int_equal(bed_look(scene.bed, "worker:0")->state, TASK_REGISTERED);
	bed_pass(scene.bed, 7000);
	assert_int_equal(bed_look(scene.bed, "worker:0")->state, TASK_RUNNING);
	assert_int_equal(bed_look(scene.bed, "worker:0")->restart, 2);
	end(&scene);
}

/* The job forms anew meanwhile: it waits at the barrier like the others. */
static void one_that_does_not_restart_in_place_any_more_waits_for_the_others(void **state)
{
	struct scene scene = begin("worker=2");

	scene.bed->job->retry_delay_ms = 10000;
	bed_type(scene.bed, "worker")->max_restarts = 3;
	submit(&scene);
	play(&scene, "a0 r0 a1 r1 s0 s1 f0 s0 f0 l1");
	assert_false(bed_look(scene.bed, "worker:0")->restarting);
	restart_after(&scene, 20000, 20000);
	assert_false(bed_look(scene.bed, "worker:0")->restarting);
	bed_pass(scene.bed, 10);
	assert_int_equal(bed_look(scene.bed, "worker:0")->state, TASK_REGISTERED);
	end(&scene);
}

static void a_pause_lasts_as_long_as_it_would_have(void **state)
{
	struct scene scene = begin("worker=2");

	scene.bed->job->retry_delay_ms = 10000;
	submit(&scene);
	play(&scene, "a0 r0 a1 r1 s0 s1 l0"); /* 7.5 to 12.5 s */
	restart_after(&scene, 3000, 3000);
	bed_gone(scene.bed, "worker:0");
	bed_pass(scene.bed, 4000);
	assert_int_equal(bed_look(scene.bed, "worker:0")->state, TASK_LOST);
	bed_pass(scene.bed, 6000);
	assert_int_equal(bed_look(scene.bed, "worker:0")->state, TASK_REQUESTED);
	end(&scene);
}

/* A wall clock that is set back, or far ahead, while there is no AM. */
static void a_clock_that_jumps_does_no_harm(void **state)
{
	static const int64_t jumps[] = {-864000000, 864000000};

	for (size_t i = 0; i < array_length(jumps); i++) {
		struct scene scene = begin("worker=2");
		scene.bed->job->registration_timeout_ms = 60000;
		scene.bed->job->allocation_timeout_ms = 60000;
		submit(&scene);
		play(&scene, "a0 r0 a1 r1 s0 s1 l0");
		restart_after(&scene, 100, jumps[i]);
		bed_gone(scene.bed, "worker:0");
		bed_pass(scene.bed, 2000);
		assert_int_equal(bed_look(scene.bed, "worker:0")->state, TASK_REQUESTED);
		play(&scene, "a0 r0 r1 s0 s1");
		assert_int_equal(bed_status(scene.bed).state, JOB_RUNNING);
		assert_int_equal(bed_status(scene.bed).epoch, 2);
		end(&scene);
	}
}

/* ---- containers --------------------------------------------------------------------------- */

static void a_container_that_ended_meanwhile_is_replaced(void **state)
{
	struct scene scene = begin("worker=2");

	submit(&scene);
	play(&scene, "a0 r0 a1 r1 s0 s1");
	restart(&scene);
	play(&scene, "l1");
	assert_int_equal(bed_status(scene.bed).state, JOB_REFORMING);
	assert_int_equal(bed_status(scene.bed).infrastructure_retries_used, 1);
	end(&scene);
}

/* It may be that nobody came to launch it. */
static void a_container_that_was_not_launched_costs_nothing(void **state)
{
	struct scene scene = begin("worker=1");

	submit(&scene);
	play(&scene, "a0");
	restart(&scene);
	play(&scene, "g0");
	assert_int_equal(bed_look(scene.bed, "worker:0")->state, TASK_REQUESTED);
	assert_int_equal(bed_look(scene.bed, "worker:0")->attempt, 2);
	assert_int_equal(bed_status(scene.bed).infrastructure_retries_used, 0);
	play(&scene, "a0 g0");
	assert_int_equal(bed_status(scene.bed).infrastructure_retries_used, 1);
	end(&scene);
}

/* The end of a job waits for containers that an earlier AM had. */
static void a_job_that_ends_waits_for_every_container(void **state)
{
	struct scene scene = begin("worker=2");

	submit(&scene);
	play(&scene, "a0 r0 a1 r1 s0 s1 x0 g0 x1");
	restart(&scene);
	play(&scene, "g0");
	assert_int_equal(bed_status(scene.bed).state, JOB_FINISHING);
	play(&scene, "g1");
	assert_int_equal(bed_status(scene.bed).state, JOB_SUCCEEDED);
	end(&scene);
}

static void a_job_that_ends_does_not_wait_for_ever(void **state)
{
	struct scene scene = begin("worker=1");

	submit(&scene);
	play(&scene, "a0 r0 s0 x0");
	restart_after(&scene, 3600000, 3600000);
	bed_pass(scene.bed, 10000);
	assert_int_equal(bed_status(scene.bed).state, JOB_FINISHING);
	bed_pass(scene.bed, 60000);
	assert_int_equal(bed_status(scene.bed).state, JOB_SUCCEEDED);
	end(&scene);
}

/* ---- types -------------------------------------------------------------------------------- */

static void stages_stay_in_order(void **state)
{
	struct scene scene = begin("worker=1 later=1");

	bed_depend(scene.bed, "later", "worker", false);
	submit(&scene);
	play(&scene, "a0 r0 s0");
	restart(&scene);
	assert_int_equal(bed_look(scene.bed, "later:0")->state, TASK_WAITING);
	play(&scene, "x0");
	assert_int_equal(bed_look(scene.bed, "later:0")->state, TASK_REQUESTED);
	restart(&scene);
	assert_true(bed_acted(scene.bed, ACTION_REQUEST, "later:0"));
	end(&scene);
}

/* worker must end within 10 s of the board, or is not waited for; the third goes on. */
static struct scene begin_with_group(int third)
{
	struct scene scene = begin(third ? "worker=1 board=1 third=1" : "worker=1 board=1");
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
	submit(&scene);
	for (const char *what = "ars"; *what; what++) {
		step(&scene, *what, "worker:0");
		step(&scene, *what, "board:0");
		if (third)
			step(&scene, *what, "third:0");
	}
	step(&scene, 's', "worker:0");
	step(&scene, 's', "board:0");
	step(&scene, 'x', "board:0");
	return scene;
}

static void a_group_timeout_goes_on(void **state)
{
	struct scene scene = begin_with_group(0);

	restart_after(&scene, 6000, 6000);
	bed_pass(scene.bed, 3000);
	assert_int_equal(bed_status(scene.bed).state, JOB_RUNNING);
	bed_beat(scene.bed, "worker:0");
	bed_pass(scene.bed, 3000);
	assert_int_equal(bed_status(scene.bed).cause->kind, CAUSE_GROUP_TIMEOUT);
	end(&scene);
}

static void who_is_not_waited_for_is_not_waited_for_later(void **state)
{
	struct scene scene = begin_with_group(1);

	bed_stand_still(scene.bed, 10500);
	write_down(&scene);
	assert_true(machine_type_is_exempt(scene.bed->machine, 0));
	restart(&scene);
	assert_true(machine_type_is_exempt(scene.bed->machine, 0));
	step(&scene, 's', "third:0");
	step(&scene, 'x', "third:0");
	assert_int_equal(bed_status(scene.bed).outcome, JOB_SUCCEEDED);
	end(&scene);
}

/* ---- beginnings, ends and oddities -------------------------------------------------------- */

static void a_job_that_never_began_is_a_new_one(void **state)
{
	struct scene scene = begin("worker=1");

	scene.bed->machine = machine_create(scene.bed->job, 1);
	restart(&scene);
	assert_int_equal(scene.bed->actions.count, 0);
	assert_int_equal(bed_status(scene.bed).state, JOB_SUBMITTED);
	machine_handle(scene.bed->machine, &(struct machine_event){.kind = EVENT_SUBMIT},
		       scene.bed->now, &scene.bed->actions);
	assert_true(bed_acted(scene.bed, ACTION_REQUEST, "worker:0"));
	end(&scene);
}

/* A record as no AM writes it. */
static void add_odd(struct scene *scene, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *text cleanup_free = mem_vprintf(format, args);
	va_end(args);
	add(scene, json_loads(text, 0, NULL));
}

static void odd_states_do_not_stop_a_job(void **state)
{
	static const char *const odd[] = {"waiting",	"requested", "allocated", "launching",
					  "registered", "running",   "stopping",  "succeeded",
					  "failed",	"lost",	     "stopped"};

	for (size_t i = 0; i < array_length(odd) * 2; i++) {
		struct scene scene = begin("worker=2");
		scene.bed->job->allocation_timeout_ms = 600000;
		scene.bed->job->registration_timeout_ms = 60000;
		submit(&scene);
		play(&scene, "a0 r0 a1 r1 s0 s1");
		add_odd(&scene,
			"{\"ev\":\"task\",\"task\":\"worker:1\",\"to\":\"%s\","
			"\"attempt\":2147483647,\"restart\":2147483647,\"restarting\":true%s}",
			odd[i / 2], i % 2 ? ",\"container\":\"c\"" : "");
		restart(&scene);
		for (int round = 0; round < 200; round++) {
			bed_drain(scene.bed);
			bed_pass(scene.bed, 30000);
			play(&scene, "a0 a1 r0 r1 s0 s1 x0 x1");
		}
		assert_true(job_state_is_final(bed_status(scene.bed).state));
		end(&scene);
	}
}

static void an_end_without_an_outcome_is_a_failure(void **state)
{
	struct scene scene = begin("worker=1");

	submit(&scene);
	play(&scene, "a0 r0 s0");
	add_odd(&scene, "{\"ev\":\"job\",\"to\":\"finishing\"}");
	restart(&scene);
	assert_int_equal(bed_look(scene.bed, "worker:0")->state, TASK_STOPPED);
	assert_true(bed_acted(scene.bed, ACTION_RELEASE, "worker:0"));
	play(&scene, "g0");
	assert_int_equal(bed_status(scene.bed).state, JOB_FAILED);
	end(&scene);
}

/* A lost worker's own pause, the slots that nobody wants any more, and how many are wanted. */
static void elastic_types_are_as_they_were(void **state)
{
	struct bed *bed = bed_create("worker=3");
	bed_type(bed, "worker")->min_instances = 1;
	bed_type(bed, "worker")->max_instances = 5;
	bed->job->elastic_settle_ms = 1000;
	struct scene scene = {.bed = bed, .view = job_view_create(bed->job), .wall_at_zero = WALL};

	submit(&scene);
	play(&scene, "a0 r0 a1 r1 a2 r2 s0 s1 s2");
	assert_true(bed_scale(bed, "worker", 2));
	write_down(&scene);
	play(&scene, "r0 r1 s0 s1 l1");
	int64_t left = bed_look(bed, "worker:1")->ask_not_before - bed->now;
	char *before cleanup_free = picture(&scene);
	restart_after(&scene, 500, 500);
	char *after cleanup_free = picture(&scene);
	assert_string_equal(after, before);
	assert_int_equal(machine_wanted(bed->machine, 0), 2);
	assert_int_equal(bed_look(bed, "worker:2")->state, TASK_STOPPED);
	assert_int_equal(bed_look(bed, "worker:3")->state, TASK_WAITING);
	assert_int_equal(bed_look(bed, "worker:1")->misses, 1);
	assert_int_equal(bed_look(bed, "worker:1")->ask_not_before - bed->now, left - 500);
	play(&scene, "r0 g1"); /* the one that is left goes on alone */
	assert_int_equal(bed_look(bed, "worker:0")->state, TASK_REGISTERED);
	bed_pass(bed, 1000);
	assert_int_equal(bed_look(bed, "worker:0")->state, TASK_RUNNING);
	assert_int_equal(bed_look(bed, "worker:1")->state, TASK_REQUESTED);
	end(&scene);
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
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
