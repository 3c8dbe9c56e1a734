/* What executors do: as docs/rest.md says it. */
#include "base/mem.h"
#include "world.h"

/* One request at a time: the next message makes an answer to the last one worthless. */
static void expect_answer(struct sim *sim, struct container *container)
{
	world_plan(sim, 2 * sim->job->heartbeat_interval_ms,
		   (struct happening){.kind = HAPPENS_NO_ANSWER,
				      .container = world_number_of(sim, container),
				      .number = container->message_number});
}

static void report_exit(struct sim *sim, const struct container *container)
{
	world_send(sim, container,
		   (struct happening){.event = EVENT_EXITED,
				      .epoch = container->epoch,
				      .restart = container->restart,
				      .cause = container->end});
}

static void say_registration(struct sim *sim, const struct container *container)
{
	world_send(sim, container,
		   (struct happening){.event = EVENT_REGISTERED,
				      .number = container->message_number,
				      .epoch = container->stop_epoch,
				      .process_epoch = container->started ? container->epoch : 0,
				      .port = container->port});
}

static void speak(struct sim *sim, struct container *container)
{
	container->message_number++;
	expect_answer(sim, container);
	if (container->phase == EXECUTOR_REGISTERING) {
		say_registration(sim, container);
		return;
	}
	if (container->abandoned) { /* until the next AM answers */
		say_registration(sim, container);
		return;
	}
	if (container->exited && !container->told_exit)
		report_exit(sim, container);
	bool waits = !container->started;
	world_send(sim, container,
		   (struct happening){.event = EVENT_BEAT,
				      .number = container->message_number,
				      .epoch = waits ? container->stop_epoch : container->epoch,
				      .restart = waits ? 0 : container->restart,
				      .running = container->process,
				      .waits = waits});
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
				.container = world_number_of(sim, container),
				.cause = world_new_failure(sim, kinds[world_between(sim, 0, 3)])};
	struct happening notice = end;

	world_plan(sim, world_between(sim, 0, ms), end);
	notice.kind = HAPPENS_PREEMPTION;
	if (end.cause.kind == CAUSE_PREEMPTED)
		world_plan(sim, world_between(sim, 0, ms), notice);
}

void executor_come_up(struct sim *sim, struct container *container)
{
	if (container->state != CONTAINER_GIVEN)
		return;
	container->heard_at = sim->now;
	if (world_chance(sim, sim->weather.container_lost))
		lose_within(sim, container, 60000);
	if (world_chance(sim, sim->weather.deaf))
		container->deaf_until = sim->now + world_between(sim, 1000, 60000);
	if (world_chance(sim, sim->weather.stuck))
		container->deaf_until = INT64_MAX;
	register_anew(sim, container, 0);
}

static void leave(struct sim *sim, struct container *container)
{
	container->phase = EXECUTOR_ABSENT;
	world_plan(sim, world_between(sim, 1, 100),
		   (struct happening){.kind = HAPPENS_CONTAINER_END,
				      .container = world_number_of(sim, container)});
}

/* How the process will end, and when; INT64_MAX: not by itself. */
static int64_t draw_end(struct sim *sim, enum job_role role, struct cause_brief *end)
{
	static const enum cause_kind kinds[] = {
		CAUSE_EXIT,	    CAUSE_NO_SPACE,	CAUSE_SIGNAL,	  CAUSE_OUT_OF_MEMORY,
		CAUSE_START_FAILED, CAUSE_STORE_FAILED, CAUSE_PORT_TAKEN, CAUSE_PORT_STOLEN};
	bool tracked = role == JOB_ROLE_TRACKED;

	*end = (struct cause_brief){0};
	if (world_chance(sim, sim->weather.failing_process / (tracked ? 1 : 4))) {
		*end = world_new_failure(sim,
					 kinds[world_between(sim, 0, array_length(kinds) - 1)]);
		end->exit_code = end->kind == CAUSE_EXIT ? (int)world_between(sim, 1, 255) : 0;
		end->signal = end->kind == CAUSE_SIGNAL ? (int)world_between(sim, 1, 64) : 0;
		return world_between(sim, 0, 60000);
	}
	if (tracked && !world_chance(sim, sim->weather.hanging_process))
		return world_between(sim, 0, world_chance(sim, 200) ? 200000 : 30000);
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
	if (container->attempt == task->attempt && container->order_am >= sim->lossy_am &&
	    container->port != task->port)
		sim_break(sim, "a process starts on a port that the cluster spec does not name");
	int64_t lasts = draw_end(sim, sim->job->types[task->type].role, &container->end);
	int64_t limit = sim->job->execution_timeout_ms;
	if (limit > 0 && lasts > limit && sim->job->types[task->type].role == JOB_ROLE_TRACKED) {
		lasts = limit;
		container->end = world_new_failure(sim, CAUSE_EXECUTION_TIMEOUT);
	}
	if (lasts != INT64_MAX)
		world_plan(sim, lasts,
			   (struct happening){.kind = HAPPENS_PROCESS_END,
					      .container = world_number_of(sim, container),
					      .number = container->process_number});
}

void executor_process_end(struct sim *sim, struct container *container, unsigned number)
{
	if (!container->process || container->process_number != number)
		return;
	world_process_gone(sim, container);
	container->exited = true;
	container->ended_at = sim->now;
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

void executor_stopped(struct sim *sim, struct container *container)
{
	world_process_gone(sim, container);
	next_after_stop(sim, container, container->next);
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
	if (world_chance(sim, sim->weather.container_lost))
		lose_within(sim, container, grace);
	world_plan(sim, world_between(sim, 0, grace + 500),
		   (struct happening){.kind = HAPPENS_STOPPED,
				      .container = world_number_of(sim, container),
				      .number = ++container->message_number});
}

/* It was ordered to do more by an AM that nobody remembers. */
static bool is_past(const struct container *container, struct order order)
{
	if (order.kind == ORDER_RUN)
		return order.epoch < container->stop_epoch ||
		       (container->started &&
			(order.epoch < container->epoch ||
			 (order.epoch == container->epoch && order.restart < container->restart)));
	if (order.kind == ORDER_STOP)
		return container->started ? order.epoch < container->epoch ||
						    order.epoch < container->stop_epoch
					  : order.epoch <= container->stop_epoch;
	return false;
}

void executor_obey(struct sim *sim, struct container *container, struct order order)
{
	container->heard_at = sim->now;
	if (sim->losses > 0 && is_past(container, order)) {
		container->phase = EXECUTOR_BEATING;
		speak(sim, container);
		return;
	}
	if (order.kind == ORDER_STOP || order.kind == ORDER_QUIT) {
		change_to(sim, container, order);
		return;
	}
	container->phase = EXECUTOR_BEATING;
	bool had = container->started && container->epoch == order.epoch &&
		   container->restart == order.restart;
	if (order.kind == ORDER_WAIT || had) {
		speak(sim, container);
		return;
	}
	if (order.epoch < container->epoch ||
	    (order.epoch == container->epoch && order.restart < container->restart))
		sim_break(sim, "an order to run a process that was replaced already");
	change_to(sim, container, order);
}

void executor_no_answer(struct sim *sim, struct container *container)
{
	if (sim->now - container->heard_at > sim->job->executor_give_up_ms)
		change_to(sim, container, (struct order){.kind = ORDER_QUIT});
	else
		speak(sim, container);
}
