#include "world.h"

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

void world_plan(struct sim *sim, int64_t delay, struct happening happening)
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

bool world_chance(struct sim *sim, int per_mille)
{
	return random_chance(&sim->random, per_mille);
}

int64_t world_between(struct sim *sim, int64_t low, int64_t high)
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

size_t world_number_of(const struct sim *sim, const struct container *container)
{
	return (size_t)(container - sim->containers);
}

static void request(struct sim *sim, const struct action *action)
{
	if (find(sim, action->task, action->attempt))
		return; /* by an AM before this one */
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
	if (world_chance(sim, sim->weather.refused)) {
		world_plan(sim, world_between(sim, 1, 5000),
			   (struct happening){.kind = HAPPENS_REFUSAL, .container = number});
		return;
	}
	bool slow = world_chance(sim, sim->weather.slow_allocation);
	world_plan(sim, slow ? world_between(sim, 10000, 900000) : world_between(sim, 1, 3000),
		   (struct happening){.kind = HAPPENS_GRANT, .container = number});
}

static void tell(struct sim *sim, size_t container, enum machine_event_kind event,
		 struct cause_brief cause)
{
	world_plan(sim, sim->scheduler_latency_ms,
		   (struct happening){.kind = HAPPENS_MESSAGE,
				      .container = container,
				      .number = sim->am,
				      .event = event,
				      .cause = cause});
}

struct cause_brief world_new_failure(struct sim *sim, enum cause_kind kind)
{
	return (struct cause_brief){.kind = kind, .number = ++sim->failure_number};
}

void world_process_gone(struct sim *sim, struct container *container)
{
	if (container->process)
		sim->tasks[container->task].processes--;
	container->process = false;
}

/* Programs that miss one fail before long, and say so. */
static void let_peers_notice(struct sim *sim, const struct container *lost)
{
	for (size_t i = 0; i < sim->container_count; i++) {
		struct container *container = &sim->containers[i];
		if (container == lost || !container->process || container->epoch != lost->epoch ||
		    !world_chance(sim, sim->weather.noticed_loss))
			continue;
		container->end = world_new_failure(sim, CAUSE_EXIT);
		container->end.exit_code = 1;
		container->end.blames_peer = true;
		world_plan(sim, world_between(sim, 0, 3000),
			   (struct happening){.kind = HAPPENS_PROCESS_END,
					      .container = i,
					      .number = container->process_number});
	}
}

static void container_gone(struct sim *sim, size_t number, struct cause_brief cause)
{
	struct container *container = &sim->containers[number];

	if (container->state != CONTAINER_GIVEN)
		return;
	if (container->process)
		let_peers_notice(sim, container);
	world_process_gone(sim, container);
	container->state = CONTAINER_GONE;
	container->gone_at = sim->now;
	container->gone = cause;
	tell(sim, number, EVENT_CONTAINER_ENDED, cause);
}

static void start_executor(struct sim *sim, size_t number)
{
	sim->containers[number].launched = true;
	if (world_chance(sim, sim->weather.launch_failed)) {
		world_plan(
			sim, world_between(sim, 1, 5000),
			(struct happening){.kind = HAPPENS_CONTAINER_END,
					   .container = number,
					   .cause = world_new_failure(sim, CAUSE_LAUNCH_FAILED)});
		return;
	}
	if (world_chance(sim, sim->weather.never_up))
		return;
	bool late = world_chance(sim, sim->weather.late_up);
	world_plan(sim, late ? world_between(sim, 5000, 200000) : world_between(sim, 10, 2000),
		   (struct happening){.kind = HAPPENS_COME_UP, .container = number});
}

static void grant(struct sim *sim, size_t number)
{
	struct container *container = &sim->containers[number];

	if (container->state != CONTAINER_ASKED)
		return;
	container->state = CONTAINER_GIVEN;
	tell(sim, number, EVENT_ALLOCATED, (struct cause_brief){0});
	if (sim->weather.starts_by_itself)
		start_executor(sim, number);
}

static void refuse(struct sim *sim, size_t number)
{
	if (sim->containers[number].state != CONTAINER_ASKED)
		return;
	sim->containers[number].state = CONTAINER_GONE;
	tell(sim, number, EVENT_REFUSED, world_new_failure(sim, CAUSE_ALLOCATION_REFUSED));
}

static void cancel(struct sim *sim, const struct action *action)
{
	struct container *container = find(sim, action->task, action->attempt);

	if (!container)
		return;
	container->cancelled = true;
	if (container->state != CONTAINER_ASKED)
		return;
	if (world_chance(sim, sim->weather.too_late))
		grant(sim, world_number_of(sim, container)); /* it was on its way */
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
	if (!sim->weather.starts_by_itself)
		start_executor(sim, world_number_of(sim, container));
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
	bool slow = world_chance(sim, sim->weather.stuck);
	world_plan(sim,
		   slow ? world_between(sim, 20000, 100000) : world_between(sim, 0, grace + 2000),
		   (struct happening){.kind = HAPPENS_CONTAINER_END,
				      .container = world_number_of(sim, container)});
}

/* Nobody claims it. What is to be asked for anew is not the newest any more. */
static void drop(struct sim *sim, size_t number)
{
	struct container *container = &sim->containers[number];
	const struct task *task = machine_task(sim->machine, container->task);

	if (container->state == CONTAINER_ASKED)
		container->state = CONTAINER_CANCELLED;
	if (container->state == CONTAINER_GIVEN) {
		world_process_gone(sim, container);
		container->state = CONTAINER_GONE;
	}
	container->forgotten = sim->losses > 0;
	if (task->state == TASK_REQUESTED && task->attempt == container->attempt)
		sim->tasks[container->task].newest = container->older;
}

/* Of attempts that the AM does not know it will ask again. */
static void forget_attempts(struct sim *sim)
{
	for (size_t i = 0; i < machine_task_count(sim->machine); i++) {
		const struct container *container;
		while ((container = world_newest(sim, i)) &&
		       container->attempt > machine_task(sim->machine, i)->attempt)
			sim->tasks[i].newest = container->older;
	}
}

/* By its name, or, where executors start by themselves, by its task and attempt alone. */
static bool is_adopted(struct sim *sim, const struct container *container)
{
	const struct task *task = machine_task(sim->machine, container->task);
	bool is_asked = sim->weather.starts_by_itself && task->state == TASK_REQUESTED &&
			(container->state == CONTAINER_ASKED || container->launched);

	return (task->has_container || is_asked) &&
	       find(sim, container->task, task->attempt) == container;
}

static void adopt(struct sim *sim, size_t number)
{
	struct container *container = &sim->containers[number];

	container->known = machine_task(sim->machine, container->task)->has_container;
	if (container->state == CONTAINER_ASKED)
		return;
	if (!machine_task(sim->machine, container->task)->container)
		tell(sim, number, EVENT_ALLOCATED, (struct cause_brief){0});
	if (container->state == CONTAINER_GONE)
		tell(sim, number, EVENT_CONTAINER_ENDED, container->gone);
	else if (!container->launched)
		container_gone(sim, number, (struct cause_brief){0});
}

void world_adopt(struct sim *sim)
{
	forget_attempts(sim);
	for (size_t i = 0; i < sim->container_count; i++) {
		if (is_adopted(sim, &sim->containers[i]))
			adopt(sim, i);
		else
			drop(sim, i);
	}
}

/* ---- the network -------------------------------------------------------------------------- */

void world_send(struct sim *sim, const struct container *container, struct happening message)
{
	message.kind = HAPPENS_MESSAGE;
	message.container = world_number_of(sim, container);
	message.am = sim->am;
	if (sim->now < container->deaf_until)
		return;
	if (world_chance(sim, sim->weather.repeated_message)) {
		struct happening copy = message;
		copy.repeated = true;
		world_plan(sim, world_between(sim, 50, 100000), copy);
	}
	if (!world_chance(sim, sim->weather.lost_message))
		world_plan(sim, world_between(sim, 1, 50), message);
}

static void answer(struct sim *sim, struct container *container, unsigned number,
		   struct order order)
{
	if (sim->now < container->deaf_until || world_chance(sim, sim->weather.lost_message))
		return;
	world_plan(sim, world_between(sim, 1, 50),
		   (struct happening){.kind = HAPPENS_ANSWER,
				      .container = world_number_of(sim, container),
				      .number = number,
				      .am = sim->am,
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

/* ---- the AM ------------------------------------------------------------------------------- */

static bool agrees(const struct order *order, const struct happening *beat)
{
	switch (order->kind) {
	case ORDER_WAIT:
		return true;
	case ORDER_RUN:
		return !beat->waits && beat->epoch == order->epoch &&
		       beat->restart == order->restart;
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
		world_plan(sim, sim->job->heartbeat_interval_ms,
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
			  .process_epoch = message->process_epoch,
			  .container = "container",
			  .host = "host",
			  .port = message->port},
		.cause = message->cause,
		.repeated = message->repeated,
		.stale = container->attempt != task->attempt || (of_process && older) ||
			 (kind == EVENT_REGISTERED && sim->losses == 0 &&
			  is_past_registration(container, message)),
	};
	bool is_first = kind == EVENT_REGISTERED && task->state == TASK_REQUESTED && !feed.stale;
	if (kind == EVENT_ALLOCATED)
		container->known = true;
	if (kind == EVENT_REGISTERED)
		container->registered = true;
	bool accepted = sim_feed(sim, &feed);
	container = &sim->containers[message->container]; /* there may be more of them now */
	container->known = container->known || (is_first && accepted);
	sim->early += is_first && accepted;
	return accepted;
}

static bool is_of_scheduler(const struct happening *message)
{
	return message->event == EVENT_ALLOCATED || message->event == EVENT_REFUSED ||
	       message->event == EVENT_CONTAINER_ENDED || message->event == EVENT_PREEMPTED;
}

/* Nobody listens: the executor tries again soon. */
static void deliver_to_nobody(struct sim *sim, const struct happening *message)
{
	if (!is_of_scheduler(message) && !message->repeated &&
	    !sim->containers[message->container].forgotten)
		world_plan(sim, world_between(sim, 100, 1000),
			   (struct happening){.kind = HAPPENS_NO_ANSWER,
					      .container = message->container,
					      .number = message->number});
}

static void deliver(struct sim *sim, const struct happening *message)
{
	if ((is_of_scheduler(message) && message->number != sim->am) ||
	    sim->containers[message->container].forgotten)
		return;
	if (sim->am_is_down || (!is_of_scheduler(message) && message->am != sim->am)) {
		deliver_to_nobody(sim, message);
		return;
	}
	if (message->repeated)
		sim->containers[message->container].echo_at = sim->now;
	if (message->event == EVENT_BEAT && message->running)
		feed_message(sim, message, EVENT_STARTED);
	bool accepted = !sim->am_is_down && feed_message(sim, message, message->event);
	struct container *container = &sim->containers[message->container];
	if (sim->am_is_down) { /* it died of this */
		deliver_to_nobody(sim, message);
		return;
	}
	if (message->repeated || container->state == CONTAINER_GONE ||
	    container->phase == EXECUTOR_ABSENT)
		return;
	if (!accepted && sim->losses > 0 && message->event == EVENT_BEAT &&
	    container->attempt == machine_task(sim->machine, container->task)->attempt) {
		container->abandoned = true; /* it is asked to register first */
		answer(sim, container, message->number, (struct order){.kind = ORDER_WAIT});
		return;
	}
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
			container->told_exit = !world_chance(sim, sim->weather.lost_message);
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

void world_lose_am(struct sim *sim)
{
	bool soon = weather_spares_machines(&sim->weather) || world_chance(sim, 800);

	for (size_t i = 0; i < sim->container_count; i++) {
		struct container *container = &sim->containers[i];
		container->abandoned = true;
		container->told_exit = false; /* who knows whether it was written down */
		if (!container->held)
			continue;
		container->heard_at = sim->now; /* it was there until it hung up */
		world_plan(sim, world_between(sim, 10, 500),
			   (struct happening){.kind = HAPPENS_NO_ANSWER,
					      .container = i,
					      .number = container->held_number});
		container->held = false;
	}
	world_plan(sim, soon ? world_between(sim, 10, 5000) : world_between(sim, 5000, 120000),
		   (struct happening){.kind = HAPPENS_AM_RETURN});
}

/* ---- time --------------------------------------------------------------------------------- */

static void restart_some_task(struct sim *sim)
{
	size_t task = (size_t)world_between(sim, 0, (int64_t)machine_task_count(sim->machine) - 1);
	struct feed feed = {.event = {.kind = EVENT_RESTART_TASK, .task = task}};

	sim->tasks[task].user_restarts++;
	sim_feed(sim, &feed);
}

static void scale_some_type(struct sim *sim)
{
	const struct feed feed = {.event = elastic_draw_scale(sim)};

	sim->scalings += sim_feed(sim, &feed);
}

static void executor_happens(struct sim *sim, const struct happening *happening)
{
	struct container *container = &sim->containers[happening->container];
	bool expected = happening->number == container->message_number &&
			container->phase != EXECUTOR_ABSENT;

	if (container->state != CONTAINER_GIVEN)
		return;
	if (happening->kind == HAPPENS_PROCESS_END)
		executor_process_end(sim, container, happening->number);
	else if (happening->kind == HAPPENS_HOLD_OVER) {
		if (container->held_number == happening->number)
			answer_held(sim, container);
	} else if (!expected)
		return;
	else if (happening->kind == HAPPENS_ANSWER) {
		container->order_am = happening->am;
		container->abandoned = container->abandoned && happening->am != sim->am;
		executor_obey(sim, container, happening->answer);
	} else if (happening->kind == HAPPENS_NO_ANSWER)
		executor_no_answer(sim, container);
	else if (happening->kind == HAPPENS_STOPPED)
		executor_stopped(sim, container);
}

/* A user whose kill nobody heard tries again. */
static void kill_job(struct sim *sim)
{
	struct feed kill = {.event = {.kind = EVENT_KILL}};

	sim->kill_delivered =
		!sim->am_is_down && sim_feed(sim, &kill) && sim->job_state >= JOB_FINISHING;
	if (!sim->kill_delivered && sim->am_is_down)
		world_plan(sim, 1000, (struct happening){.kind = HAPPENS_KILL});
}

static void happen(struct sim *sim, const struct happening *happening)
{

	switch (happening->kind) {
	case HAPPENS_GRANT:
		grant(sim, happening->container);
		break;
	case HAPPENS_REFUSAL:
		refuse(sim, happening->container);
		break;
	case HAPPENS_COME_UP:
		executor_come_up(sim, &sim->containers[happening->container]);
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
		kill_job(sim);
		break;
	case HAPPENS_RESTART:
		if (!sim->am_is_down)
			restart_some_task(sim);
		break;
	case HAPPENS_SCALE:
		if (!sim->am_is_down)
			scale_some_type(sim);
		break;
	case HAPPENS_AM_RETURN:
		death_return(sim);
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
	sim->scheduler_latency_ms = world_chance(sim, 500) ? 5 : world_between(sim, 1, 3000);
	if (world_chance(sim, sim->weather.user_kill))
		world_plan(sim, world_between(sim, 0, 120000),
			   (struct happening){.kind = HAPPENS_KILL});
	while (world_chance(sim, sim->weather.user_restart))
		world_plan(sim, world_between(sim, 0, 120000),
			   (struct happening){.kind = HAPPENS_RESTART});
	while (sim->weather.user_scale > 0 && world_chance(sim, sim->weather.user_scale))
		world_plan(sim, world_between(sim, 0, 60000),
			   (struct happening){.kind = HAPPENS_SCALE});
	sim_feed(sim, &submit);
}

static bool is_for_am(enum happening_kind kind)
{
	return kind == HAPPENS_GRANT || kind == HAPPENS_REFUSAL || kind == HAPPENS_CONTAINER_END ||
	       kind == HAPPENS_PREEMPTION || kind == HAPPENS_MESSAGE || kind == HAPPENS_HOLD_OVER ||
	       kind == HAPPENS_KILL || kind == HAPPENS_RESTART || kind == HAPPENS_SCALE;
}

/* When the machine's own time comes, by its AM, which may be kept from working: INT64_MAX: never.
 */
static int64_t find_deadline(const struct sim *sim)
{
	int64_t deadline = sim->am_is_down ? INT64_MAX : machine_deadline(sim->machine);

	if (deadline == INT64_MAX)
		return INT64_MAX;
	deadline += sim->clock_origin;
	return deadline > sim->stalled_until ? deadline : sim->stalled_until;
}

/* An event for an AM that does nothing at present comes to it once it goes on. */
static bool is_put_off(struct sim *sim, const struct happening *happening)
{
	if (sim->now >= sim->stalled_until || !is_for_am(happening->kind))
		return false;
	world_plan(sim, sim->stalled_until - sim->now, *happening);
	return true;
}

bool world_step(struct sim *sim)
{
	struct feed tick = {.event = {.kind = EVENT_TICK}};

	if (sim->now >= sim->stalled_until && world_chance(sim, sim->weather.am_stall))
		sim->stalled_until = sim->now + world_between(sim, 1000, 90000);
	int64_t deadline = find_deadline(sim);
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
	if (!is_put_off(sim, &happening))
		happen(sim, &happening);
	return true;
}
