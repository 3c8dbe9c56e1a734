#include "sim.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

static const char *const event_names[EVENT_KIND_COUNT] = {
	[EVENT_SUBMIT] = "submit",	 [EVENT_ALLOCATED] = "allocated",
	[EVENT_REFUSED] = "refused",	 [EVENT_REGISTERED] = "registered",
	[EVENT_STARTED] = "started",	 [EVENT_EXITED] = "exited",
	[EVENT_BEAT] = "beat",		 [EVENT_CONTAINER_ENDED] = "container ended",
	[EVENT_PREEMPTED] = "preempted", [EVENT_TICK] = "tick",
	[EVENT_KILL] = "kill",		 [EVENT_RESTART_TASK] = "restart",
	[EVENT_SCALE] = "scale",
};

void sim_break(struct sim *sim, const char *format, ...)
{
	va_list args;

	if (sim->broken)
		return;
	va_start(args, format);
	sim->broken = mem_vprintf(format, args);
	va_end(args);
}

void trace_print(const struct sim *sim, const struct trace *trace)
{
	const struct task *task = machine_task(sim->machine, trace->task);

	if (trace->when == 0)
		return;
	if (trace->mark) {
		printf("%10.3f s  %s\n", (double)trace->when / 1000, trace->mark);
		return;
	}
	printf("%10.3f s  %s:%d %s", (double)trace->when / 1000, sim->job->types[task->type].name,
	       task->index, event_names[trace->event]);
	if (trace->attempt > 0)
		printf(" (attempt %d, epoch %d, restart %d)", trace->attempt, trace->epoch,
		       trace->restart);
	if (trace->cause != CAUSE_NONE)
		printf(" %s", cause_kind_name(trace->cause));
	printf("%s: %s; task %s -> %s, job %s\n", trace->repeated ? ", repeated" : "",
	       trace->accepted ? "accepted" : "refused", task_state_name(trace->before),
	       task_state_name(trace->after), job_state_name(trace->job));
}

static void add_trace(struct sim *sim, const struct trace *trace)
{
	sim->trace[++sim->traced % TRACE_LENGTH] = *trace;
	if (sim->verbose)
		trace_print(sim, trace);
}

void trace_mark(struct sim *sim, const char *mark)
{
	const struct trace trace = {.when = sim->now, .mark = mark};

	add_trace(sim, &trace);
}

static void record(struct sim *sim, const struct feed *feed, enum task_state before, bool accepted)
{
	const struct trace trace = {
		.when = sim->now,
		.event = feed->event.kind,
		.task = feed->event.task,
		.attempt = feed->event.attempt,
		.epoch = feed->event.epoch,
		.restart = feed->event.restart,
		.cause = feed->cause.kind,
		.repeated = feed->repeated,
		.accepted = accepted,
		.before = before,
		.after = machine_task(sim->machine, feed->event.task)->state,
		.job = sim->job_state,
	};
	add_trace(sim, &trace);
}

/* What is stale may at most give back what nobody waits for. */
static void check_unchanged(struct sim *sim, const struct feed *feed, uint64_t before)
{
	if (check_digest(sim) != before)
		sim_break(sim, "a stale event changed something");
	for (size_t i = 0; i < sim->actions.count; i++)
		if (feed->event.kind != EVENT_ALLOCATED ||
		    sim->actions.items[i].kind != ACTION_RELEASE)
			sim_break(sim, "a stale event led to an action");
}

/* An executor that the machine counts on must not be sent away. */
static void check_refusal(struct sim *sim, const struct feed *feed)
{
	const struct container *container = world_newest(sim, feed->event.task);
	bool awaited = feed->event.kind == EVENT_BEAT || feed->event.kind == EVENT_REGISTERED;

	awaited = awaited && (sim->losses == 0 || feed->event.kind == EVENT_REGISTERED);
	if (awaited && !feed->repeated && !feed->stale && container &&
	    container->state == CONTAINER_GIVEN && !container->released && !container->cancelled &&
	    !job_state_is_final(sim->job_state))
		sim_break(sim, "a present executor was refused");
}

static bool handle(struct sim *sim, const struct feed *feed)
{
	char text[32];
	struct cause cause = {.kind = feed->cause.kind,
			      .exit_code = feed->cause.exit_code,
			      .signal = feed->cause.signal,
			      .text = text,
			      .headline =
				      feed->cause.blames_peer ? "Connection reset by peer" : NULL};
	struct machine_event event = feed->event;

	snprintf(text, sizeof(text), "failure %u", feed->cause.number);
	event.cause = cause.kind == CAUSE_NONE ? NULL : &cause;
	return machine_handle(sim->machine, &event, sim_clock(sim), &sim->actions);
}

int64_t sim_clock(const struct sim *sim)
{
	return sim->now - sim->clock_origin;
}

/* What may not be true yet where the AM died before it had carried out all of it. */
static void check_effects(struct sim *sim, const struct feed *feed)
{
	check_task(sim, feed->event.task);
	if (sim->events % 256 == 0)
		check_all(sim);
	check_given_back(sim, feed->event.task);
}

/* Nothing changes by it: but it may find that there is nothing to wait for any more. */
void sim_resume(struct sim *sim)
{
	const struct feed feed = {0};

	action_list_clear(&sim->actions);
	machine_resume(sim->machine, sim_clock(sim), &sim->actions);
	for (size_t i = 0; i < sim->actions.count; i++) {
		const struct action *action = &sim->actions.items[i];
		if (action->kind != ACTION_EPOCH)
			check_action(sim, action, &feed);
		mirror_action(sim, action);
		world_act(sim, action);
	}
	mirror_commit(sim);
	check_all(sim);
}

static struct machine_status status_of(const struct sim *sim)
{
	struct machine_status status;

	machine_status(sim->machine, &status);
	return status;
}

bool sim_feed(struct sim *sim, const struct feed *feed)
{
	bool whole = feed->stale || feed->repeated || sim->events % 64 == 0;
	uint64_t digest = whole ? check_digest(sim) : 0;
	enum task_state before = machine_task(sim->machine, feed->event.task)->state;
	bool is_free = elastic_is_free_loss(sim, &feed->event);
	const struct machine_status present = status_of(sim);
	int charges = check_charges(sim);

	sim->events++;
	action_list_clear(&sim->actions);
	bool accepted = handle(sim, feed);
	if (is_free && check_charges(sim) != charges)
		sim_break(sim, "the job pays for a loss that it can bear");
	check_blame(sim, present.retries_used);
	if (sim->now >= sim->outage_until && random_chance(&sim->random, sim->weather.outage))
		sim->outage_until = sim->now + random_between(&sim->random, 100, 60000);
	const struct death death = death_draw(sim);
	if (death.torn) {
		death_strike(sim, &death);
		return false;
	}
	for (size_t i = 0; i < sim->actions.count; i++) {
		check_action(sim, &sim->actions.items[i], feed);
		mirror_action(sim, &sim->actions.items[i]);
		if (!death.comes || i < death.actions)
			world_act(sim, &sim->actions.items[i]);
	}
	mirror_commit(sim);
	for (size_t i = 0; i < sim->actions.count; i++)
		if (sim->actions.items[i].kind == ACTION_TASK_CHANGED)
			check_told(sim, sim->actions.items[i].task);
	if (feed->stale || (whole && !accepted))
		check_unchanged(sim, feed, digest);
	if (!accepted)
		check_refusal(sim, feed);
	record(sim, feed, before, accepted);
	check_told(sim, feed->event.task);
	if (death.comes)
		death_strike(sim, &death);
	else
		check_effects(sim, feed);
	return accepted;
}
