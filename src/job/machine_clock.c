#include "job/machine_internal.h"

#include <inttypes.h>

#include "base/mem.h"

/* An executor that has not obeyed a stop order this long after its grace is given up. */
#define STOP_MARGIN_MS 30000

int64_t machine_beat_limit(const struct machine *m)
{
	int missed = m->job->max_missed_heartbeats < 3 ? 3 : m->job->max_missed_heartbeats;
	return m->job->heartbeat_interval_ms * missed;
}

/* ---- one task ----------------------------------------------------------------------------- */

/* When the present state of the task becomes a failure, and which; INT64_MAX: never. An executor
 * that is ending a process may be silent for the grace on top. */
static int64_t task_limit(const struct machine *m, size_t task, enum cause_kind *kind)
{
	const struct task *t = &m->tasks[task];
	int64_t grace = m->job->types[t->type].stop_grace_ms;
	*kind = CAUSE_EXECUTOR_LOST;
	switch (t->state) {
	case TASK_LAUNCHING:
		*kind = CAUSE_REGISTRATION_TIMEOUT;
		return m->job->registration_timeout_ms > 0
			       ? t->state_since + m->job->registration_timeout_ms
			       : INT64_MAX;
	case TASK_REGISTERED:
		return t->heard_at + machine_beat_limit(m);
	case TASK_RUNNING:
		return t->heard_at + machine_beat_limit(m) + (t->process_up ? 0 : grace);
	case TASK_STOPPING: {
		int64_t beat = t->heard_at + machine_beat_limit(m) + grace;
		int64_t silence = t->state_since + grace + STOP_MARGIN_MS;
		return beat < silence ? beat : silence;
	}
	default:
		return INT64_MAX;
	}
}

static void give_up(struct machine *m, size_t task, enum cause_kind kind)
{
	const struct task *t = &m->tasks[task];
	char *after cleanup_free =
		str_format_duration(kind == CAUSE_REGISTRATION_TIMEOUT ? m->now - t->state_since
								       : m->now - t->heard_at);
	char *text cleanup_free =
		kind == CAUSE_REGISTRATION_TIMEOUT
			? mem_printf("its executor did not register within %s", after)
			: mem_printf("its executor was not heard of for %s", after);
	struct cause cause = {.kind = kind, .text = text};
	machine_give_up(m, task, &cause);
}

/* Looks at every task, so not too often: what is due soon may wait for what is due with it. */
static void check_tasks(struct machine *m)
{
	int64_t step = m->job->heartbeat_interval_ms / 4 + 1;
	for (size_t task = 0; task < m->task_count && m->state < JOB_FINISHING; task++) {
		enum cause_kind kind;
		int64_t limit = task_limit(m, task, &kind);
		if (limit <= m->now)
			give_up(m, task, kind);
		else if (limit != INT64_MAX)
			machine_due(m, limit > m->now + step ? limit : m->now + step);
	}
}

/* ---- the job ------------------------------------------------------------------------------ */

static void check_application_timeout(struct machine *m)
{
	int64_t timeout = m->job->application_timeout_ms;
	if (timeout <= 0)
		return;
	if (m->now < m->submitted_at + timeout) {
		machine_due(m, m->submitted_at + timeout);
		return;
	}
	char *text cleanup_free = str_format_duration(timeout);
	machine_fail(m, CAUSE_APPLICATION_TIMEOUT,
		     "the job did not end within tony.application.timeout (%s)", text);
}

static size_t count_forming(const struct machine *m)
{
	return m->in[TASK_REQUESTED] + m->in[TASK_ALLOCATED] + m->in[TASK_LAUNCHING];
}

/* Gives back what a gang holds while it waits for the rest, so that another gang can form. */
static void give_gang_back(struct machine *m)
{
	machine_charge(m, CHARGE_INFRASTRUCTURE);
	machine_note(m, 0,
		     "the gang was not complete in time: its containers are given back, "
		     "and asked for again after a pause");
	for (size_t task = 0; task < m->task_count; task++) {
		enum task_state state = m->tasks[task].state;
		if (state == TASK_REQUESTED)
			machine_act(m, ACTION_CANCEL, task);
		else if (state == TASK_ALLOCATED || state == TASK_LAUNCHING ||
			 (state == TASK_REGISTERED && !m->extras[task].restarting))
			machine_act(m, ACTION_RELEASE, task);
		else
			continue;
		machine_set_task(m, task, TASK_LOST);
		machine_set_rejoin(m, task, true);
	}
	machine_ask_rejoining(m);
}

static void check_allocation_timeout(struct machine *m)
{
	int64_t timeout = m->job->allocation_timeout_ms;
	if (timeout <= 0 || m->job->mode != JOB_MODE_GANG || count_forming(m) == 0)
		return;
	if (m->now < m->formation_since + timeout) {
		machine_due(m, m->formation_since + timeout);
		return;
	}
	bool holds_some =
		m->in[TASK_ALLOCATED] + m->in[TASK_LAUNCHING] + m->in[TASK_REGISTERED] > 0;
	if (holds_some && machine_can_charge(m, CHARGE_INFRASTRUCTURE)) {
		give_gang_back(m);
		machine_due(m, m->formation_since + timeout);
		return;
	}
	char *text cleanup_free = str_format_duration(timeout);
	machine_fail(
		m, CAUSE_ALLOCATION_TIMEOUT,
		"%zu of %zu tasks were not there within tony.container.allocation.timeout (%s)",
		count_forming(m), m->task_count, text);
}

/* When the last member of the group ended; -1: one still lives (or has yet to). */
static int64_t group_end(const struct machine *m, const struct job_group_timeout *group)
{
	int64_t last = 0;
	for (size_t i = 0; i < group->member_count; i++) {
		const struct type_tally *type = &m->types[group->members[i]];
		size_t ended =
			type->in[TASK_SUCCEEDED] + type->in[TASK_FAILED] + type->in[TASK_LOST];
		if (ended < type->count || type->rejoining > 0)
			return -1;
		if (type->last_end > last)
			last = type->last_end;
	}
	return last;
}

static void check_group(struct machine *m, const struct job_group_timeout *group)
{
	struct type_tally *type = &m->types[group->type];
	if (type->exempt || type->in[TASK_RUNNING] == 0)
		return;
	int64_t end = group_end(m, group);
	if (end < 0)
		return;
	if (end < type->begun_at) /* what begins later has its time as well */
		end = type->begun_at;
	if (m->now < end + group->timeout_ms) {
		machine_due(m, end + group->timeout_ms);
		return;
	}
	const char *name = m->job->types[group->type].name;
	char *text cleanup_free = str_format_duration(group->timeout_ms);
	if (group->ignored) {
		type->exempt = true;
		machine_note(m, type->first,
			     "%s still runs %s after group %s ended: not waited for", name, text,
			     group->group);
		machine_check_end(m);
		return;
	}
	machine_fail(m, CAUSE_GROUP_TIMEOUT,
		     "%s still runs %s after group %s ended "
		     "(tony.application.dependency.%s.timeout.after.%s)",
		     name, text, group->group, name, group->group);
}

void machine_check_groups(struct machine *m)
{
	/* As in TonY: not before every task has been scheduled. */
	if (m->job->group_timeout_count == 0 || m->in[TASK_WAITING] + count_forming(m) > 0)
		return;
	for (size_t i = 0; i < m->job->group_timeout_count && m->state < JOB_FINISHING; i++)
		check_group(m, &m->job->group_timeouts[i]);
}

static void check_restarts(struct machine *m)
{
	for (size_t i = 0; i < m->job->type_count; i++) {
		const struct type_tally *type = &m->types[i];
		for (size_t k = 0; k < type->count && type->restarting > 0; k++)
			if (m->extras[type->first + k].restarting)
				machine_due(m, m->tasks[type->first + k].start_not_before);
	}
}

void machine_tick(struct machine *m)
{
	m->deadline = INT64_MAX;
	if (m->state == JOB_FINISHING) {
		if (m->now >= m->finish_by)
			machine_set_job(m, m->outcome);
		m->deadline = m->finish_by;
		return;
	}
	if (m->state == JOB_SUBMITTED)
		return;
	check_application_timeout(m);
	if (m->state < JOB_FINISHING)
		check_allocation_timeout(m);
	if (m->state < JOB_FINISHING)
		check_tasks(m);
	if (m->state < JOB_FINISHING)
		machine_check_groups(m);
	if (m->state >= JOB_FINISHING)
		return;
	machine_activate_types(m);
	machine_ask_rejoining(m);
	machine_open_barrier(m);
	check_restarts(m);
}
