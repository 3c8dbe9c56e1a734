#include "sim.h"

#include "base/mem.h"
#include "job/machine_internal.h"

#define LIFE_MS 3000 /* in which an AM hears of every executor */

/* ---- when --------------------------------------------------------------------------------- */

/* Executors that nobody listens to for too long leave: machines fail by that as well. */
static bool is_spared(const struct sim *sim)
{
	return weather_spares_machines(&sim->weather) && sim->hasty_deaths >= 2 &&
	       sim->now - sim->returned_at < LIFE_MS;
}

/* One in four dies again within a few events of its return. */
static bool strikes(struct sim *sim)
{
	if (sim->weather.am_death == 0 || is_spared(sim))
		return false;
	if (sim->doom > 0 && --sim->doom == 0)
		return true;
	int weight = sim->actions.count > 0 ? 5 : 1; /* where more can go wrong */
	return random_chance(&sim->random, weight * sim->weather.am_death);
}

struct death death_draw(struct sim *sim)
{
	if (!strikes(sim))
		return (struct death){0};
	bool torn = random_chance(&sim->random, 300);
	if (!torn && job_state_is_final(sim->machine->state)) /* nothing is left to be done */
		return (struct death){0};
	int64_t count = (int64_t)sim->actions.count;
	return (struct death){
		.comes = true,
		.torn = torn,
		.actions = (size_t)random_between(&sim->random, 0, count),
	};
}

/* ---- is it the same? ---------------------------------------------------------------------- */

/* A machine, and when its clock stood at 0. */
struct side {
	struct machine *machine;
	int64_t origin;
};

/* What has passed already is all the same. */
static int64_t time_left(const struct sim *sim, const struct side *side, int64_t time)
{
	int64_t left = time + side->origin - sim->now;

	return left > 0 ? left : 0;
}

static void differ(struct sim *sim, const char *what, int64_t before, int64_t after)
{
	if (before != after)
		sim_break(sim, "the restored machine has another %s: %lld instead of %lld", what,
			  (long long)after, (long long)before);
}

#define differ_in(member) differ(sim, #member, (int64_t)a->member, (int64_t)b->member)
#define differ_in_time(member)                                                                     \
	differ(sim, #member, (int64_t)a->member + before->origin,                                  \
	       (int64_t)b->member + after->origin)

static void differ_in_text(struct sim *sim, const char *what, const char *before, const char *after)
{
	if (!str_equal(before, after))
		sim_break(sim, "the restored machine has another %s: \"%s\" instead of \"%s\"",
			  what, after, before);
}

static void differ_in_cause(struct sim *sim, const struct cause *a, const struct cause *b)
{
	differ_in(kind);
	differ_in(exit_code);
	differ_in(signal);
	differ_in_text(sim, "cause's text", a->text, b->text);
}

static void compare_task(struct sim *sim, const struct side *before, const struct side *after,
			 size_t task)
{
	const struct task *a = &before->machine->tasks[task], *b = &after->machine->tasks[task];

	differ_in(state);
	differ_in(attempt);
	differ_in(epoch);
	differ_in(restart);
	differ_in(restarts_used);
	differ_in(process_up);
	differ_in(blames_peer);
	differ_in(port);
	differ_in(ui_port);
	differ_in(misses);
	differ_in(moved);
	differ_in(ports_lost);
	differ_in(port_missed);
	differ_in(port_open);
	differ(sim, "ask_not_before", time_left(sim, before, a->ask_not_before),
	       time_left(sim, after, b->ask_not_before));
	differ_in(rejoin);
	differ_in(restarting);
	if (a->state != TASK_WAITING)
		differ_in_time(state_since);
	if (a->restarting)
		differ(sim, "start_not_before", time_left(sim, before, a->start_not_before),
		       time_left(sim, after, b->start_not_before));
	else
		differ_in(start_not_before);
	differ_in_text(sim, "container", a->container, b->container);
	differ_in_text(sim, "host", a->host, b->host);
	differ_in_text(sim, "blamed", a->blamed, b->blamed);
	differ_in_cause(sim, &a->cause, &b->cause);
	if (a->has_container && (a->container || a->port > 0) && !b->has_container)
		sim_break(sim, "the restored machine has lost sight of a container");
}

static bool has_ended(const struct type_tally *type)
{
	return type->in[TASK_SUCCEEDED] + type->in[TASK_FAILED] + type->in[TASK_LOST] ==
	       type->count;
}

static void compare_type(struct sim *sim, const struct side *before, const struct side *after,
			 size_t type)
{
	const struct type_tally *a = &before->machine->types[type];
	const struct type_tally *b = &after->machine->types[type];

	for (int i = 0; i < TASK_STATE_COUNT; i++)
		differ_in(in[i]);
	differ_in(up);
	differ_in(rejoining);
	differ_in(restarting);
	differ_in(active);
	differ_in(wanted);
	differ_in(started);
	differ_in(exempt);
	if (a->in[TASK_RUNNING] > 0)
		differ_in_time(begun_at);
	if (a->count > 0 && has_ended(a))
		differ_in_time(last_end);
}

static void compare(struct sim *sim, const struct side *before, const struct side *after)
{
	const struct machine *a = before->machine, *b = after->machine;

	differ_in(state);
	differ_in(outcome);
	differ_in(epoch);
	differ_in(retries_used);
	differ_in(infrastructure_retries_used);
	differ_in(preemptions);
	differ_in(streak);
	differ_in(cause_task);
	if (a->cause.kind != CAUSE_NONE)
		differ_in(cause_epoch);
	differ_in(blaming);
	differ_in_cause(sim, &a->cause, &b->cause);
	if (a->state == JOB_SUBMITTED)
		return;
	differ_in_time(state_since);
	differ_in_time(submitted_at);
	differ(sim, "hold_until", time_left(sim, before, a->hold_until),
	       time_left(sim, after, b->hold_until));
	differ_in_time(formation_since);
	for (size_t i = 0; i < sim->job->type_count; i++)
		compare_type(sim, before, after, i);
	for (size_t i = 0; i < a->task_count; i++)
		compare_task(sim, before, after, i);
}

/* ---- one AM after the other --------------------------------------------------------------- */

/* On another machine, as it may be, with a clock of its own. */
static struct side restore(struct sim *sim)
{
	int64_t clock = random_between(&sim->random, 1, 10000000);
	uint64_t seed = random_next(&sim->random);

	return (struct side){
		.machine = machine_restore(sim->job, seed, sim->view, clock, sim->now),
		.origin = sim->now - clock,
	};
}

/* The next AM's machine, which must be the last one's. */
static void replace(struct sim *sim, bool is_same)
{
	struct side before = {.machine = sim->machine, .origin = sim->clock_origin};
	struct side after = restore(sim);

	if (is_same)
		compare(sim, &before, &after);
	machine_destroy(before.machine);
	sim->machine = after.machine;
	sim->clock_origin = after.origin;
}

/* The next AM goes on from what the store had taken. */
static void forget(struct sim *sim)
{
	mirror_lose(sim);
	replace(sim, false);
	check_forget(sim);
	sim->losses++;
	sim->lossy_am = sim->am + 1;
	trace_mark(sim, "what no store had taken is lost with the AM");
}

void death_strike(struct sim *sim, const struct death *death)
{
	str_list_finish(&sim->lines); /* what was written by half is not there */
	if (sim->now >= sim->outage_until)
		mirror_catch_up(sim);
	if (sim->unkept_count > 0)
		forget(sim);
	else
		replace(sim, !death->torn);
	sim->outage_until = 0;
	sim->deaths++;
	sim->hasty_deaths = sim->now - sim->returned_at < LIFE_MS ? sim->hasty_deaths + 1 : 0;
	trace_mark(sim, death->torn ? "the AM dies before it has written down the event"
				    : "the AM dies");
	sim->am_is_down = true;
	world_lose_am(sim);
}

void death_return(struct sim *sim)
{
	const struct feed submit = {.event = {.kind = EVENT_SUBMIT}};

	sim->am++; /* what was told so far is told to nobody */
	sim->am_is_down = false;
	sim->returned_at = sim->now;
	trace_mark(sim, "another AM comes");
	sim->doom = random_chance(&sim->random, 250) ? (int)random_between(&sim->random, 1, 5) : 0;
	replace(sim, true);
	world_adopt(sim);
	if (sim->job_state == JOB_SUBMITTED)
		sim_feed(sim, &submit);
	else
		sim_resume(sim);
}
