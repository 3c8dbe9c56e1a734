#include "sim.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* ---- what is to happen: a heap by time ---------------------------------------------------- */

static bool is_sooner(const struct happening *a, const struct happening *b)
{
	return a->when != b->when ? a->when < b->when : a->order < b->order;
}

static void swap(struct happening *a, struct happening *b)
{
	struct happening held = *a;
	*a = *b;
	*b = held;
}

static void plan(struct sim *sim, int64_t delay, struct happening happening)
{
	happening.when = sim->now + delay;
	happening.order = ++sim->order;
	if (sim->heap_count == sim->heap_capacity) {
		sim->heap_capacity = sim->heap_capacity ? 2 * sim->heap_capacity : 256;
		sim->heap = mem_realloc_array(sim->heap, sim->heap_capacity, sizeof(*sim->heap));
	}
	size_t at = sim->heap_count++;
	sim->heap[at] = happening;
	for (; at > 0 && is_sooner(&sim->heap[at], &sim->heap[(at - 1) / 2]); at = (at - 1) / 2)
		swap(&sim->heap[at], &sim->heap[(at - 1) / 2]);
}

static struct happening take_soonest(struct sim *sim)
{
	struct happening first = sim->heap[0];
	size_t at = 0;

	sim->heap[0] = sim->heap[--sim->heap_count];
	for (;;) {
		size_t least = at;
		for (size_t child = 2 * at + 1; child <= 2 * at + 2; child++)
			if (child < sim->heap_count &&
			    is_sooner(&sim->heap[child], &sim->heap[least]))
				least = child;
		if (least == at)
			return first;
		swap(&sim->heap[at], &sim->heap[least]);
		at = least;
	}
}

static bool chance(struct sim *sim, int per_mille)
{
	return random_chance(&sim->random, per_mille);
}

static int64_t between(struct sim *sim, int64_t low, int64_t high)
{
	return random_between(&sim->random, low, high);
}

/* ---- the scheduler ------------------------------------------------------------------------ */

struct container *world_newest(struct sim *sim, size_t task)
{
	size_t newest = sim->tasks[task].newest;

	return newest == SIZE_MAX ? NULL : &sim->containers[newest];
}

static struct container *find(struct sim *sim, size_t task, int attempt)
{
	struct container *container = world_newest(sim, task);

	while (container && container->attempt != attempt)
		container =
			container->older == SIZE_MAX ? NULL : &sim->containers[container->older];
	return container;
}

static size_t number_of(const struct sim *sim, const struct container *container)
{
	return (size_t)(container - sim->containers);
}

static void request(struct sim *sim, const struct action *action)
{
	if (sim->container_count == sim->container_capacity) {
		sim->container_capacity =
			sim->container_capacity ? 2 * sim->container_capacity : 64;
		sim->containers = mem_realloc_array(sim->containers, sim->container_capacity,
						    sizeof(*sim->containers));
	}
	size_t number = sim->container_count++;
	sim->containers[number] = (struct container){
		.task = action->task,
		.attempt = action->attempt,
		.older = sim->tasks[action->task].newest,
	};
	sim->tasks[action->task].newest = number;
	if (chance(sim, sim->weather.refused)) {
		plan(sim, between(sim, 1, 5000),
		     (struct happening){.kind = HAPPENS_REFUSAL, .container = number});
		return;
	}
	bool slow = chance(sim, sim->weather.slow_allocation);
	plan(sim, slow ? between(sim, 10000, 900000) : between(sim, 1, 3000),
	     (struct happening){.kind = HAPPENS_GRANT, .container = number});
}

static void tell(struct sim *sim, size_t container, enum machine_event_kind event,
		 struct cause_brief cause)
{
	plan(sim, sim->scheduler_latency_ms,
	     (struct happening){.kind = HAPPENS_MESSAGE,
				.container = container,
				.event = event,
				.cause = cause});
}

static struct cause_brief new_failure(struct sim *sim, enum cause_kind kind)
{
	return (struct cause_brief){.kind = kind, .number = ++sim->failure_number};
}

static void process_gone(struct sim *sim, struct container *container)
{
	if (container->process)
		sim->tasks[container->task].processes--;
	container->process = false;
}

static void container_gone(struct sim *sim, size_t number, struct cause_brief cause)
{
	struct container *container = &sim->containers[number];

	if (container->state != CONTAINER_GIVEN)
		return;
	process_gone(sim, container);
	container->state = CONTAINER_GONE;
	tell(sim, number, EVENT_CONTAINER_ENDED, cause);
}

static void grant(struct sim *sim, size_t number)
{
	struct container *container = &sim->containers[number];

	if (container->state != CONTAINER_ASKED)
		return;
	container->state = CONTAINER_GIVEN;
	tell(sim, number, EVENT_ALLOCATED, (struct cause_brief){0});
}

static void refuse(struct sim *sim, size_t number)
{
	if (sim->containers[number].state != CONTAINER_ASKED)
		return;
	sim->containers[number].state = CONTAINER_GONE;
	tell(sim, number, EVENT_REFUSED, new_failure(sim, CAUSE_ALLOCATION_REFUSED));
}

static void cancel(struct sim *sim, const struct action *action)
{
	struct container *container = find(sim, action->task, action->attempt);

	if (!container || container->state != CONTAINER_ASKED)
		return;
	if (chance(sim, sim->weather.too_late))
		grant(sim, number_of(sim, container)); /* it was on its way */
	else
		container->state = CONTAINER_CANCELLED;
}

static void launch(struct sim *sim, const struct action *action)
{
	struct container *container = find(sim, action->task, action->attempt);

	if (!container ||
	    (container->state != CONTAINER_GIVEN && container->state != CONTAINER_GONE)) {
		sim_break(sim, "a launch in a container that was not given");
		return;
	}
	size_t number = number_of(sim, container);
	if (chance(sim, sim->weather.launch_failed)) {
		plan(sim, between(sim, 1, 5000),
		     (struct happening){.kind = HAPPENS_CONTAINER_END,
					.container = number,
					.cause = new_failure(sim, CAUSE_LAUNCH_FAILED)});
		return;
	}
	if (chance(sim, sim->weather.never_up))
		return;
	bool late = chance(sim, sim->weather.late_up);
	plan(sim, late ? between(sim, 5000, 200000) : between(sim, 10, 2000),
	     (struct happening){.kind = HAPPENS_COME_UP, .container = number});
}

static void release(struct sim *sim, const struct action *action)
{
	struct container *container = find(sim, action->task, action->attempt);

	if (!container || container->state == CONTAINER_ASKED) {
		sim_break(sim, "a release of a container that was not given");
		return;
	}
	if (container->released)
		return;
	container->released = true;
	int64_t grace =
		sim->job->types[machine_task(sim->machine, container->task)->type].stop_grace_ms;
	bool slow = chance(sim, sim->weather.stuck);
	plan(sim, slow ? between(sim, 20000, 100000) : between(sim, 0, grace + 2000),
	     (struct happening){.kind = HAPPENS_CONTAINER_END,
				.container = number_of(sim, container)});
}

/* ---- the network -------------------------------------------------------------------------- */

/* From an executor; lost, late or repeated as the weather is. */
static void send(struct sim *sim, const struct container *container, struct happening message)
{
	message.kind = HAPPENS_MESSAGE;
	message.container = number_of(sim, container);
	if (sim->now < container->deaf_until)
		return;
	if (chance(sim, sim->weather.repeated_message)) {
		struct happening copy = message;
		copy.repeated = true;
		plan(sim, between(sim, 50, 100000), copy);
	}
	if (!chance(sim, sim->weather.lost_message))
		plan(sim, between(sim, 1, 50), message);
}

static void answer(struct sim *sim, struct container *container, unsigned number,
		   struct order order)
{
	if (sim->now < container->deaf_until || chance(sim, sim->weather.lost_message))
		return;
	plan(sim, between(sim, 1, 50),
	     (struct happening){.kind = HAPPENS_ANSWER,
				.container = number_of(sim, container),
				.number = number,
				.answer = order});
}

static void answer_held(struct sim *sim, struct container *container)
{
	if (!container || !container->held)
		return;
	container->held = false;
	struct order order = {.kind = ORDER_QUIT};
	if (container->attempt == machine_task(sim->machine, container->task)->attempt)
		order = machine_order(sim->machine, container->task);
	answer(sim, container, container->held_number, order);
}

/* ---- the executor ------------------------------------------------------------------------- */

/* One request at a time: the next message makes an answer to the last one worthless. */
static void expect_answer(struct sim *sim, struct container *container)
{
	plan(sim, 2 * sim->job->heartbeat_interval_ms,
	     (struct happening){.kind = HAPPENS_NO_ANSWER,
				.container = number_of(sim, container),
				.number = container->message_number});
}

static void report_exit(struct sim *sim, const struct container *container)
{
	send(sim, container,
	     (struct happening){.event = EVENT_EXITED,
				.epoch = container->epoch,
				.restart = container->restart,
				.cause = container->end});
}

static void speak(struct sim *sim, struct container *container)
{
	container->message_number++;
	expect_answer(sim, container);
	if (container->phase == EXECUTOR_REGISTERING) {
		send(sim, container,
		     (struct happening){.event = EVENT_REGISTERED,
					.number = container->message_number,
					.epoch = container->stop_epoch,
					.port = container->port});
		return;
	}
	if (container->exited && !container->told_exit)
		report_exit(sim, container);
	send(sim, container,
	     (struct happening){.event = EVENT_BEAT,
				.number = container->message_number,
				.epoch = container->epoch,
				.restart = container->restart,
				.running = container->process});
}

static void register_anew(struct sim *sim, struct container *container, int epoch)
{
	container->phase = EXECUTOR_REGISTERING;
	container->stop_epoch = epoch;
	container->port = ++sim->next_port;
	container->exited = false;
	container->started = false;
	speak(sim, container);
}

static void lose_within(struct sim *sim, const struct container *container, int64_t ms)
{
	static const enum cause_kind kinds[] = {CAUSE_NODE_LOST, CAUSE_PREEMPTED,
						CAUSE_EXECUTOR_LOST, CAUSE_NONE};
	struct happening end = {.kind = HAPPENS_CONTAINER_END,
				.container = number_of(sim, container),
				.cause = new_failure(sim, kinds[between(sim, 0, 3)])};
	struct happening notice = end;

	plan(sim, between(sim, 0, ms), end);
	notice.kind = HAPPENS_PREEMPTION;
	if (end.cause.kind == CAUSE_PREEMPTED)
		plan(sim, between(sim, 0, ms), notice);
}

static void come_up(struct sim *sim, struct container *container)
{
	if (container->state != CONTAINER_GIVEN)
		return;
	container->heard_at = sim->now;
	if (chance(sim, sim->weather.container_lost))
		lose_within(sim, container, 60000);
	if (chance(sim, sim->weather.deaf))
		container->deaf_until = sim->now + between(sim, 1000, 60000);
	if (chance(sim, sim->weather.stuck))
		container->deaf_until = INT64_MAX;
	register_anew(sim, container, 0);
}

static void leave(struct sim *sim, struct container *container)
{
	container->phase = EXECUTOR_ABSENT;
	plan(sim, between(sim, 1, 100),
	     (struct happening){.kind = HAPPENS_CONTAINER_END,
				.container = number_of(sim, container)});
}

/* How the process will end, and when; INT64_MAX: not by itself. */
static int64_t draw_end(struct sim *sim, enum job_role role, struct cause_brief *end)
{
	static const enum cause_kind kinds[] = {
		CAUSE_EXIT,	    CAUSE_EXIT,		CAUSE_SIGNAL,	 CAUSE_OUT_OF_MEMORY,
		CAUSE_START_FAILED, CAUSE_STORE_FAILED, CAUSE_PORT_TAKEN};
	bool tracked = role == JOB_ROLE_TRACKED;

	*end = (struct cause_brief){0};
	if (chance(sim, sim->weather.failing_process / (tracked ? 1 : 4))) {
		*end = new_failure(sim, kinds[between(sim, 0, 5)]);
		end->exit_code = end->kind == CAUSE_EXIT ? (int)between(sim, 1, 255) : 0;
		end->signal = end->kind == CAUSE_SIGNAL ? (int)between(sim, 1, 64) : 0;
		return between(sim, 0, 60000);
	}
	if (tracked && !chance(sim, sim->weather.hanging_process))
		return between(sim, 0, chance(sim, 200) ? 200000 : 30000);
	return INT64_MAX;
}

static void start_process(struct sim *sim, struct container *container, struct order order)
{
	const struct task *task = machine_task(sim->machine, container->task);

	container->process = true;
	container->started = true;
	container->exited = false;
	container->told_exit = false;
	container->epoch = order.epoch;
	container->restart = order.restart;
	container->process_number++;
	if (++sim->tasks[container->task].processes > 1)
		sim_break(sim, "two live processes of one task");
	if (container->attempt == task->attempt && container->port != task->port)
		sim_break(sim, "a process starts on a port that the cluster spec does not name");
	int64_t lasts = draw_end(sim, sim->job->types[task->type].role, &container->end);
	int64_t limit = sim->job->execution_timeout_ms;
	if (limit > 0 && lasts > limit && sim->job->types[task->type].role == JOB_ROLE_TRACKED) {
		lasts = limit;
		container->end = new_failure(sim, CAUSE_EXECUTION_TIMEOUT);
	}
	if (lasts != INT64_MAX)
		plan(sim, lasts,
		     (struct happening){.kind = HAPPENS_PROCESS_END,
					.container = number_of(sim, container),
					.number = container->process_number});
}

static void process_end(struct sim *sim, struct container *container, unsigned number)
{
	if (!container->process || container->process_number != number)
		return;
	process_gone(sim, container);
	container->exited = true;
	report_exit(sim, container);
}

static void next_after_stop(struct sim *sim, struct container *container, struct order order)
{
	container->phase = EXECUTOR_BEATING;
	switch (order.kind) {
	case ORDER_RUN:
		start_process(sim, container, order);
		speak(sim, container);
		return;
	case ORDER_STOP:
		register_anew(sim, container, order.epoch);
		return;
	default:
		leave(sim, container);
		return;
	}
}

/* Ends what runs first. */
static void change_to(struct sim *sim, struct container *container, struct order order)
{
	if (!container->process) {
		next_after_stop(sim, container, order);
		return;
	}
	int64_t grace =
		sim->job->types[machine_task(sim->machine, container->task)->type].stop_grace_ms;
	container->phase = EXECUTOR_STOPPING;
	container->next = order;
	if (chance(sim, sim->weather.container_lost))
		lose_within(sim, container, grace);
	plan(sim, between(sim, 0, grace + 500),
	     (struct happening){.kind = HAPPENS_STOPPED,
				.container = number_of(sim, container),
				.number = ++container->message_number});
}

static void obey(struct sim *sim, struct container *container, struct order order)
{
	container->heard_at = sim->now;
	if (order.kind == ORDER_STOP || order.kind == ORDER_QUIT) {
		change_to(sim, container, order);
		return;
	}
	container->phase = EXECUTOR_BEATING;
	bool had = container->epoch == order.epoch && container->restart == order.restart;
	if (order.kind == ORDER_WAIT || had) {
		speak(sim, container);
		return;
	}
	if (order.epoch < container->epoch ||
	    (order.epoch == container->epoch && order.restart < container->restart))
		sim_break(sim, "an order to run a process that was replaced already");
	change_to(sim, container, order);
}

static void no_answer(struct sim *sim, struct container *container)
{
	if (sim->now - container->heard_at > sim->job->executor_give_up_ms)
		change_to(sim, container, (struct order){.kind = ORDER_QUIT});
	else
		speak(sim, container);
}

/* ---- the AM ------------------------------------------------------------------------------- */

static bool agrees(const struct order *order, const struct happening *beat)
{
	switch (order->kind) {
	case ORDER_WAIT:
		return true;
	case ORDER_RUN:
		return beat->epoch == order->epoch && beat->restart == order->restart;
	default:
		return false;
	}
}

static void hold(struct sim *sim, struct container *container, const struct happening *beat)
{
	struct order order = machine_order(sim->machine, container->task);

	container->held = true;
	container->held_number = beat->number;
	if (!agrees(&order, beat))
		answer_held(sim, container);
	else
		plan(sim, sim->job->heartbeat_interval_ms,
		     (struct happening){.kind = HAPPENS_HOLD_OVER,
					.container = beat->container,
					.number = beat->number});
}

/* The executor has begun a process since, or registered anew. */
static bool is_past_registration(const struct container *container, const struct happening *message)
{
	return container->started || message->port != container->port;
}

static bool feed_message(struct sim *sim, const struct happening *message,
			 enum machine_event_kind kind)
{
	struct container *container = &sim->containers[message->container];
	const struct task *task = machine_task(sim->machine, container->task);
	bool of_process = kind == EVENT_STARTED || kind == EVENT_EXITED;
	bool older = message->epoch < task->epoch ||
		     (message->epoch == task->epoch && message->restart < task->restart);
	struct feed feed = {
		.event = {.kind = kind,
			  .task = container->task,
			  .attempt = container->attempt,
			  .epoch = message->epoch,
			  .restart = message->restart,
			  .container = "container",
			  .host = "host",
			  .port = message->port},
		.cause = message->cause,
		.repeated = message->repeated,
		.stale = container->attempt != task->attempt || (of_process && older) ||
			 (kind == EVENT_REGISTERED && is_past_registration(container, message)),
	};
	if (kind == EVENT_ALLOCATED)
		container->known = true;
	if (kind == EVENT_REGISTERED)
		container->registered = true;
	return sim_feed(sim, &feed);
}

static void deliver(struct sim *sim, const struct happening *message)
{
	if (message->event == EVENT_BEAT && message->running)
		feed_message(sim, message, EVENT_STARTED);
	bool accepted = feed_message(sim, message, message->event);
	struct container *container = &sim->containers[message->container];
	if (message->repeated || container->state == CONTAINER_GONE ||
	    container->phase == EXECUTOR_ABSENT)
		return;
	if (!accepted) {
		answer(sim, container, container->message_number,
		       (struct order){.kind = ORDER_QUIT});
		return;
	}
	switch (message->event) {
	case EVENT_REGISTERED:
		answer(sim, container, message->number, (struct order){.kind = ORDER_WAIT});
		break;
	case EVENT_BEAT:
		hold(sim, container, message);
		break;
	case EVENT_EXITED:
		if (message->epoch == container->epoch && message->restart == container->restart)
			container->told_exit = !chance(sim, sim->weather.lost_message);
		break;
	default:
		break;
	}
}

void world_act(struct sim *sim, const struct action *action)
{
	switch (action->kind) {
	case ACTION_REQUEST:
		request(sim, action);
		break;
	case ACTION_CANCEL:
		cancel(sim, action);
		break;
	case ACTION_LAUNCH:
		launch(sim, action);
		break;
	case ACTION_ORDER:
		answer_held(sim, world_newest(sim, action->task));
		break;
	case ACTION_RELEASE:
		release(sim, action);
		answer_held(sim, find(sim, action->task, action->attempt));
		break;
	default:
		break;
	}
}

/* ---- time --------------------------------------------------------------------------------- */

static void restart_some_task(struct sim *sim)
{
	size_t task = (size_t)between(sim, 0, (int64_t)machine_task_count(sim->machine) - 1);
	struct feed feed = {.event = {.kind = EVENT_RESTART_TASK, .task = task}};

	sim->tasks[task].user_restarts++;
	sim_feed(sim, &feed);
}

static void executor_happens(struct sim *sim, const struct happening *happening)
{
	struct container *container = &sim->containers[happening->container];
	bool expected = happening->number == container->message_number &&
			container->phase != EXECUTOR_ABSENT;

	if (container->state != CONTAINER_GIVEN)
		return;
	if (happening->kind == HAPPENS_PROCESS_END)
		process_end(sim, container, happening->number);
	else if (happening->kind == HAPPENS_HOLD_OVER) {
		if (container->held_number == happening->number)
			answer_held(sim, container);
	} else if (!expected)
		return;
	else if (happening->kind == HAPPENS_ANSWER)
		obey(sim, container, happening->answer);
	else if (happening->kind == HAPPENS_NO_ANSWER)
		no_answer(sim, container);
	else if (happening->kind == HAPPENS_STOPPED) {
		process_gone(sim, container);
		next_after_stop(sim, container, container->next);
	}
}

static void happen(struct sim *sim, const struct happening *happening)
{
	struct feed kill = {.event = {.kind = EVENT_KILL}};

	switch (happening->kind) {
	case HAPPENS_GRANT:
		grant(sim, happening->container);
		break;
	case HAPPENS_REFUSAL:
		refuse(sim, happening->container);
		break;
	case HAPPENS_COME_UP:
		come_up(sim, &sim->containers[happening->container]);
		break;
	case HAPPENS_CONTAINER_END:
		container_gone(sim, happening->container, happening->cause);
		break;
	case HAPPENS_PREEMPTION:
		if (sim->containers[happening->container].state == CONTAINER_GIVEN)
			tell(sim, happening->container, EVENT_PREEMPTED, happening->cause);
		break;
	case HAPPENS_MESSAGE:
		deliver(sim, happening);
		break;
	case HAPPENS_KILL:
		sim->kill_delivered = sim_feed(sim, &kill);
		break;
	case HAPPENS_RESTART:
		restart_some_task(sim);
		break;
	default:
		executor_happens(sim, happening);
		break;
	}
}

void world_begin(struct sim *sim)
{
	struct feed submit = {.event = {.kind = EVENT_SUBMIT}};

	sim->now = 1000;
	sim->scheduler_latency_ms = chance(sim, 500) ? 5 : between(sim, 1, 3000);
	if (chance(sim, sim->weather.user_kill))
		plan(sim, between(sim, 0, 120000), (struct happening){.kind = HAPPENS_KILL});
	while (chance(sim, sim->weather.user_restart))
		plan(sim, between(sim, 0, 120000), (struct happening){.kind = HAPPENS_RESTART});
	sim_feed(sim, &submit);
}

bool world_step(struct sim *sim)
{
	struct feed tick = {.event = {.kind = EVENT_TICK}};
	int64_t deadline = machine_deadline(sim->machine);

	if (deadline != INT64_MAX && (sim->heap_count == 0 || deadline <= sim->heap[0].when)) {
		sim->ticks_at_once = deadline > sim->now ? 0 : sim->ticks_at_once + 1;
		if (sim->ticks_at_once > 10)
			sim_break(sim, "the deadline does not move on");
		if (deadline > sim->now)
			sim->now = deadline;
		sim_feed(sim, &tick);
		return true;
	}
	if (sim->heap_count == 0)
		return false;
	struct happening happening = take_soonest(sim);
	sim->ticks_at_once = 0;
	sim->now = happening.when;
	happen(sim, &happening);
	return true;
}
