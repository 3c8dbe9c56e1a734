/*
 * What an event costs the state machine, by the number of tasks: one gang whose programs fail and
 * are started again in place, and which loses some of its containers. `scale-curve 1000 10000`
 * prints a JSON object a line for each; time is that of the machine alone.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/mem.h"
#include "base/str.h"
#include "job/machine.h"

enum {
	BEAT_MS = 1000,
	LOSSES = 3,		/* containers, of each job */
	FAILING_PER_MILLE = 20, /* processes */
};

/* What will happen to one task, or to the job. */
struct happening {
	int64_t when;
	enum machine_event_kind kind;
	size_t task;
	int attempt, epoch, restart;
	bool fails;
};

struct world {
	uint64_t random;
	struct job *job;
	struct machine *machine;
	struct action_list actions;
	int64_t now;
	struct happening *heap; /* by time */
	size_t count, capacity;
	int *heard; /* by task: restart + 1 of the process that was ordered last, in `epoch` */
	int *epoch;
	int losses;
	uint64_t events;
	int64_t machine_ns;
};

static int64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static int64_t between(struct world *world, int64_t low, int64_t high)
{
	world->random ^= world->random << 13; /* xorshift64 */
	world->random ^= world->random >> 7;
	world->random ^= world->random << 17;
	return low + (int64_t)(world->random % (uint64_t)(high - low + 1));
}

/* ---- the heap ----------------------------------------------------------------------------- */

static void plan(struct world *world, int64_t delay, struct happening happening)
{
	happening.when = world->now + delay;
	if (world->count == world->capacity) {
		world->capacity = world->capacity ? 2 * world->capacity : 1024;
		world->heap = mem_realloc_array(world->heap, world->capacity, sizeof(*world->heap));
	}
	size_t at = world->count++;
	for (; at > 0 && world->heap[(at - 1) / 2].when > happening.when; at = (at - 1) / 2)
		world->heap[at] = world->heap[(at - 1) / 2];
	world->heap[at] = happening;
}

static struct happening take_soonest(struct world *world)
{
	struct happening first = world->heap[0], last = world->heap[--world->count];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < world->count) {
		if (child + 1 < world->count &&
		    world->heap[child + 1].when < world->heap[child].when)
			child++;
		if (world->heap[child].when >= last.when)
			break;
		world->heap[at] = world->heap[child];
		at = child;
	}
	world->heap[at] = last;
	return first;
}

/* ---- scheduler and executors -------------------------------------------------------------- */

static void start_process(struct world *world, size_t task, struct order order)
{
	struct happening process = {.task = task,
				    .attempt = machine_task(world->machine, task)->attempt,
				    .epoch = order.epoch,
				    .restart = order.restart};

	if (world->epoch[task] == order.epoch && world->heard[task] == order.restart + 1)
		return;
	world->epoch[task] = order.epoch;
	world->heard[task] = order.restart + 1;
	process.kind = EVENT_STARTED;
	plan(world, between(world, 1, 20), process);
	process.kind = EVENT_EXITED;
	process.fails = between(world, 0, 999) < FAILING_PER_MILLE;
	plan(world, between(world, 5000, 30000), process);
	process.kind = EVENT_BEAT;
	plan(world, BEAT_MS, process);
	if (world->losses < LOSSES) {
		world->losses++;
		process.kind = EVENT_CONTAINER_ENDED;
		plan(world, between(world, 100, 3000), process);
	}
}

static void obey(struct world *world, size_t task)
{
	struct order order = machine_order(world->machine, task);
	struct happening next = {.kind = EVENT_REGISTERED,
				 .task = task,
				 .attempt = machine_task(world->machine, task)->attempt,
				 .epoch = order.epoch};

	if (order.kind == ORDER_RUN)
		start_process(world, task, order);
	else if (order.kind == ORDER_STOP)
		plan(world, between(world, 10, 500), next);
}

static void act(struct world *world, const struct action *action)
{
	struct happening next = {.task = action->task, .attempt = action->attempt};

	switch (action->kind) {
	case ACTION_REQUEST:
		next.kind = EVENT_ALLOCATED;
		plan(world, between(world, 1, 3000), next);
		break;
	case ACTION_LAUNCH:
		next.kind = EVENT_REGISTERED;
		plan(world, between(world, 10, 2000), next);
		break;
	case ACTION_RELEASE:
		next.kind = EVENT_CONTAINER_ENDED;
		plan(world, between(world, 1, 200), next);
		break;
	case ACTION_ORDER:
		obey(world, action->task);
		break;
	default:
		break;
	}
}

/* ---- events ------------------------------------------------------------------------------- */

static bool feed(struct world *world, const struct happening *happening)
{
	const struct cause failed = {.kind = CAUSE_EXIT, .exit_code = 1};
	const struct machine_event event = {.kind = happening->kind,
					    .task = happening->task,
					    .attempt = happening->attempt,
					    .epoch = happening->epoch,
					    .restart = happening->restart,
					    .container = "container",
					    .host = "127.0.0.1",
					    .port = 4000,
					    .cause = happening->fails ? &failed : NULL};

	action_list_clear(&world->actions);
	int64_t begun = now_ns();
	bool heard = machine_handle(world->machine, &event, world->now, &world->actions);
	world->machine_ns += now_ns() - begun;
	world->events++;
	for (size_t i = 0; i < world->actions.count; i++)
		act(world, &world->actions.items[i]);
	return heard;
}

static bool is_over(const struct world *world)
{
	struct machine_status status;

	machine_status(world->machine, &status);
	return job_state_is_final(status.state);
}

/* A process that was replaced meanwhile beats no more. */
static bool still_beats(const struct world *world, const struct happening *beat)
{
	const struct task *task = machine_task(world->machine, beat->task);

	return task->state == TASK_RUNNING && task->attempt == beat->attempt &&
	       task->epoch == beat->epoch && task->restart == beat->restart;
}

static void step(struct world *world)
{
	const struct happening tick = {.kind = EVENT_TICK};
	int64_t deadline = machine_deadline(world->machine);

	if (world->count == 0 || deadline <= world->heap[0].when) {
		world->now = deadline > world->now ? deadline : world->now;
		feed(world, &tick);
		return;
	}
	struct happening next = take_soonest(world);
	world->now = next.when;
	if (next.kind == EVENT_BEAT && !still_beats(world, &next))
		return;
	feed(world, &next);
	if (next.kind == EVENT_BEAT)
		plan(world, BEAT_MS, next);
}

/* ---- one job ------------------------------------------------------------------------------ */

static struct job *make_job(int tasks)
{
	struct job *job = mem_alloc(sizeof(*job));

	*job = (struct job){
		.id = mem_strdup("tony-scale"),
		.name = mem_strdup("scale"),
		.user = mem_strdup("bench"),
		.framework = mem_strdup("generic"),
		.mode = JOB_MODE_GANG,
		.fail_fast = true,
		.retry_count = 10,
		.infrastructure_retry_count = LOSSES,
		.retry_delay_ms = 1000,
		.registration_timeout_ms = 120000,
		.allocation_timeout_ms = 300000,
		.executor_give_up_ms = 25000,
		.heartbeat_interval_ms = BEAT_MS,
		.max_missed_heartbeats = 25,
		.type_count = 1,
	};
	job->types = mem_alloc(sizeof(*job->types));
	job->types[0] = (struct job_type){.name = mem_strdup("worker"),
					  .instances = tasks,
					  .processes = 1,
					  .memory = 1024,
					  .vcores = 1,
					  .command = mem_strdup("true"),
					  .max_restarts = 4,
					  .hold_port = true,
					  .stop_grace_ms = 1000};
	return job;
}

static int run(int tasks)
{
	const struct happening submit = {.kind = EVENT_SUBMIT};
	struct world world = {.random = 7, .job = make_job(tasks)};
	struct machine_status status;
	int64_t begun = now_ns();

	world.machine = machine_create(world.job, 7);
	world.heard = mem_alloc_array((size_t)tasks, sizeof(*world.heard));
	world.epoch = mem_alloc_array((size_t)tasks, sizeof(*world.epoch));
	feed(&world, &submit);
	while (!is_over(&world))
		step(&world);
	machine_status(world.machine, &status);
	printf("{\"tasks\":%d,\"state\":\"%s\",\"epoch\":%d,\"events\":%" PRIu64
	       ",\"seconds\":%.3f,\"ns_per_event\":%" PRId64 "}\n",
	       tasks, job_state_name(status.state), status.epoch, world.events,
	       (double)(now_ns() - begun) / 1e9, world.machine_ns / (int64_t)world.events);
	fflush(stdout);
	machine_destroy(world.machine);
	job_destroy(world.job);
	action_list_finish(&world.actions);
	free(world.heap);
	free(world.heard);
	free(world.epoch);
	return status.state == JOB_SUCCEEDED ? 0 : 1;
}

int main(int argc, char **argv)
{
	int result = 0;

	for (int i = 1; i < argc; i++) {
		int64_t tasks;
		if (str_parse_int(argv[i], 1, JOB_MAX_TASKS, &tasks) < 0) {
			fprintf(stderr, "scale-curve: \"%s\" is not a number of tasks\n", argv[i]);
			return 2;
		}
		result |= run((int)tasks);
	}
	return result;
}
