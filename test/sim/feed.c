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

static void record(struct sim *sim, const struct feed *feed, enum task_state before, bool accepted)
{
	struct trace *trace = &sim->trace[sim->events % TRACE_LENGTH];

	*trace = (struct trace){
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
	if (sim->verbose)
		trace_print(sim, trace);
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

	if (awaited && !feed->repeated && !feed->stale && container &&
	    container->state == CONTAINER_GIVEN && !container->released &&
	    !job_state_is_final(sim->job_state))
		sim_break(sim, "a present executor was refused");
}

static bool handle(struct sim *sim, const struct feed *feed)
{
	char text[32];
	struct cause cause = {.kind = feed->cause.kind,
			      .exit_code = feed->cause.exit_code,
			      .signal = feed->cause.signal,
			      .text = text};
	struct machine_event event = feed->event;

	snprintf(text, sizeof(text), "failure %u", feed->cause.number);
	event.cause = cause.kind == CAUSE_NONE ? NULL : &cause;
	return machine_handle(sim->machine, &event, sim->now, &sim->actions);
}

bool sim_feed(struct sim *sim, const struct feed *feed)
{
	bool whole = feed->stale || feed->repeated || sim->events % 64 == 0;
	uint64_t digest = whole ? check_digest(sim) : 0;
	enum task_state before = machine_task(sim->machine, feed->event.task)->state;

	sim->events++;
	action_list_clear(&sim->actions);
	bool accepted = handle(sim, feed);
	for (size_t i = 0; i < sim->actions.count; i++) {
		check_action(sim, &sim->actions.items[i], feed);
		mirror_action(sim, &sim->actions.items[i]);
		world_act(sim, &sim->actions.items[i]);
	}
	for (size_t i = 0; i < sim->actions.count; i++)
		if (sim->actions.items[i].kind == ACTION_TASK_CHANGED)
			check_told(sim, sim->actions.items[i].task);
	if (feed->stale || (whole && !accepted))
		check_unchanged(sim, feed, digest);
	if (!accepted)
		check_refusal(sim, feed);
	record(sim, feed, before, accepted);
	check_task(sim, feed->event.task);
	if (sim->events % 256 == 0)
		check_all(sim);
	check_told(sim, feed->event.task);
	check_given_back(sim, feed->event.task);
	return accepted;
}
