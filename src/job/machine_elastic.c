#include "job/machine_internal.h"

#include "base/mem.h"

/* A container that keeps failing is asked for again after pauses that double up to an hour: who
 * joins and dies again disturbs all others each time. */
#define FIRST_PAUSE_MS	 1000
#define LONGEST_PAUSE_MS (3600 * 1000)

/* ---- how many there are ------------------------------------------------------------------- */

static bool is_elastic(const struct machine *m, size_t type)
{
	return job_type_is_elastic(&m->job->types[type]);
}

static size_t minimum(const struct machine *m, size_t type)
{
	return (size_t)job_type_minimum(&m->job->types[type]);
}

size_t machine_size(const struct machine *m, size_t i)
{
	const struct type_tally *type = &m->types[i];
	if (!type->active || !is_elastic(m, i))
		return type->wanted;
	return type->count - type->in[TASK_WAITING] - type->in[TASK_STOPPED];
}

/* Those that have registered, and whose container is still there. */
static size_t count_present(const struct type_tally *type)
{
	return type->in[TASK_REGISTERED] + type->in[TASK_RUNNING] + type->in[TASK_STOPPING];
}

static size_t count_asked(const struct type_tally *type)
{
	return type->in[TASK_REQUESTED] + type->in[TASK_ALLOCATED] + type->in[TASK_LAUNCHING];
}

size_t machine_count_coming(const struct type_tally *type)
{
	return count_asked(type) + type->rejoining;
}

size_t machine_missing(const struct machine *m, size_t i)
{
	const struct type_tally *type = &m->types[i];
	size_t asked = count_asked(type);
	if (!is_elastic(m, i))
		return asked;
	size_t present = count_present(type), least = minimum(m, i);
	size_t lacking = present < least ? least - present : 0;
	return asked < lacking ? asked : lacking;
}

/* Tasks of the present formation that have ended for good. Stages that are over are history. */
static size_t count_ended(const struct machine *m)
{
	size_t ended = 0;
	for (size_t i = 0; i < m->job->type_count; i++) {
		const struct type_tally *type = &m->types[i];
		if (type->active && machine_role(m, i) != JOB_ROLE_SIDECAR &&
		    !machine_is_finished_stage(m, i))
			ended += type->in[TASK_SUCCEEDED] + type->in[TASK_FAILED] +
				 type->in[TASK_LOST] - type->rejoining;
	}
	return ended;
}

bool machine_is_chief(const struct machine *m, size_t task)
{
	const struct task *t = &m->tasks[task];
	if (!is_elastic(m, t->type))
		return job_is_chief(m->job, t->type, t->index);
	if (!job_is_chief(m->job, t->type, 0))
		return false;
	for (size_t first = m->types[t->type].first; first < task; first++)
		if (machine_task_is_member(m, first))
			return false;
	return true;
}

/* ---- waiting for more --------------------------------------------------------------------- */

bool machine_gathers(const struct machine *m, size_t type)
{
	return is_elastic(m, type) && m->types[type].started > 0;
}

void machine_await_others(struct machine *m, size_t task)
{
	const struct task *t = &m->tasks[task];
	if (is_elastic(m, t->type) && t->misses <= 1)
		m->settle_until = m->now + m->job->elastic_settle_ms;
}

static bool has_settled(struct machine *m)
{
	if (m->now >= m->settle_until)
		return true;
	machine_due(m, m->settle_until);
	return false;
}

bool machine_may_start_without(struct machine *m, size_t type)
{
	return is_elastic(m, type) && m->types[type].in[TASK_REGISTERED] >= minimum(m, type) &&
	       has_settled(m);
}

void machine_grow(struct machine *m)
{
	size_t arrived = 0, coming = 0;
	for (size_t i = 0; i < m->job->type_count; i++) {
		const struct type_tally *type = &m->types[i];
		if (!machine_gathers(m, i))
			continue;
		arrived += type->in[TASK_REGISTERED] - type->restarting - type->unmet;
		coming += machine_count_coming(type);
	}
	if (arrived == 0 || (coming > 0 && !has_settled(m)))
		return;
	machine_note(m, 0, "%zu %s come: the job goes on with %s", arrived,
		     arrived == 1 ? "task has" : "tasks have", arrived == 1 ? "it" : "them");
	if (m->job->live_elastic)
		machine_start_arrivals(m);
	else
		machine_form_anew(m);
}

/* ---- going on with fewer ------------------------------------------------------------------ */

static void ask_later(struct machine *m, size_t task)
{
	struct task *t = &m->tasks[task];
	int64_t first =
		m->job->retry_delay_ms > FIRST_PAUSE_MS ? m->job->retry_delay_ms : FIRST_PAUSE_MS;
	t->misses++;
	t->ask_not_before = m->now + machine_pause(m, first, LONGEST_PAUSE_MS, t->misses);
	machine_set_rejoin(m, task, true);
	machine_ask_again(m, task);
}

bool machine_can_spare(const struct machine *m, size_t task, enum policy_charge charge)
{
	const struct task *t = &m->tasks[task];
	bool is_of_infrastructure = t->cause.kind == CAUSE_ALLOCATION_REFUSED ||
				    t->cause.kind == CAUSE_LAUNCH_FAILED ||
				    policy_is_others_fault(charge);
	if (!is_elastic(m, t->type) || t->state != TASK_LOST || !is_of_infrastructure)
		return false;
	if (count_ended(m) > 1) /* it is one of them */
		return false;
	bool is_extra = (size_t)t->index >= minimum(m, t->type) && t->epoch != m->epoch;
	return is_extra || count_present(&m->types[t->type]) >= minimum(m, t->type);
}

void machine_spare(struct machine *m, size_t task)
{
	struct task *t = &m->tasks[task];
	bool was_member = t->epoch == m->epoch;
	machine_note(m, task, "%s:%d: %s; the job goes on without it until another container comes",
		     m->job->types[t->type].name, t->index, t->cause.text ? t->cause.text : "lost");
	machine_let_go(m, task);
	if (was_member && !m->job->live_elastic)
		machine_blame(m, (int64_t)task, &t->cause);
	ask_later(m, task);
	if (was_member && !m->job->live_elastic)
		machine_form_anew(m);
	else
		machine_open_barrier(m);
}

void machine_replace_survivor(struct machine *m, size_t task)
{
	size_t type = m->tasks[task].type;
	if (!is_elastic(m, type) || count_present(&m->types[type]) < minimum(m, type)) {
		machine_replace(m, task);
		return;
	}
	ask_later(m, task);
	machine_open_barrier(m);
}

/* ---- nobody new --------------------------------------------------------------------------- */

/* It is not wanted any more. */
static void drop(struct machine *m, size_t task)
{
	struct task *t = &m->tasks[task];
	if (t->rejoin) {
		machine_set_rejoin(m, task, false);
		machine_set_task(m, task, TASK_STOPPED);
	} else if (t->state != TASK_WAITING) {
		machine_stop_task(m, task);
	}
}

static bool is_coming(const struct task *t)
{
	switch (t->state) {
	case TASK_REQUESTED:
	case TASK_ALLOCATED:
	case TASK_LAUNCHING:
		return true;
	case TASK_REGISTERED:
		return !t->restarting;
	default:
		return t->rejoin;
	}
}

void machine_settle_size(struct machine *m)
{
	if (m->state >= JOB_FINISHING || count_ended(m) == 0)
		return;
	for (size_t i = 0; i < m->job->type_count; i++) {
		const struct type_tally *type = &m->types[i];
		if (!machine_gathers(m, i) ||
		    machine_count_coming(type) + type->in[TASK_REGISTERED] == type->restarting)
			continue;
		for (size_t k = 0; k < type->count; k++)
			if (is_coming(&m->tasks[type->first + k]))
				drop(m, type->first + k);
	}
}

/* ---- another number is wanted ------------------------------------------------------------- */

/* Members of the present epoch, those with numbers from @from on. */
static size_t count_members(const struct machine *m, size_t i, size_t from)
{
	const struct type_tally *type = &m->types[i];
	size_t members = 0;
	for (size_t k = from; k < type->count; k++) {
		const struct task *t = &m->tasks[type->first + k];
		members += machine_task_is_member(m, type->first + k) &&
			   (t->state == TASK_RUNNING || t->state == TASK_REGISTERED);
	}
	return members;
}

static void drop_from(struct machine *m, size_t i)
{
	const struct type_tally *type = &m->types[i];
	for (size_t k = type->wanted; k < type->count; k++)
		drop(m, type->first + k);
}

/* Programs that live through changes go on, unless lower numbers have not come yet and fewer than
 * the least would be left. */
static bool needs_new_epoch(const struct machine *m, size_t i, size_t dropped)
{
	return dropped > 0 && (!m->job->live_elastic || count_members(m, i, 0) < minimum(m, i));
}

bool machine_scale(struct machine *m, const struct machine_event *event)
{
	if (m->state == JOB_SUBMITTED || m->state >= JOB_FINISHING ||
	    event->type >= m->job->type_count || !is_elastic(m, event->type) || event->count < 0)
		return false;
	struct type_tally *type = &m->types[event->type];
	size_t count = (size_t)event->count, before = type->wanted;
	if (count < minimum(m, event->type) || count > type->count || count_ended(m) > 0 ||
	    machine_is_finished_stage(m, event->type))
		return false;
	if (count == before)
		return true;
	type->wanted = count;
	m->unrecorded = true;
	machine_note(m, type->first, "%zu of %s are wanted instead of %zu", count,
		     m->job->types[event->type].name, before);
	machine_formation_begins(m);
	for (size_t k = before; k < count && type->active; k++)
		machine_wake(m, type->first + k);
	size_t dropped = count_members(m, event->type, count);
	drop_from(m, event->type);
	if (needs_new_epoch(m, event->type, dropped))
		machine_form_anew(m);
	else
		machine_open_barrier(m);
	return true;
}
