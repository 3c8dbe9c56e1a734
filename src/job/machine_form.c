#include "job/machine_internal.h"

#include "base/mem.h"

#define BACKOFF_DOUBLINGS 6 /* the longest pause is 64 times the first */

/* ---- asking for containers ---------------------------------------------------------------- */

static void ask(struct machine *m, size_t task)
{
	struct task *t = &m->tasks[task];
	machine_set_rejoin(m, task, false);
	t->attempt++;
	t->restart = 0;
	t->epoch = 0;
	t->port = 0;
	mem_replace(&t->container, NULL);
	machine_set_task(m, task, TASK_REQUESTED);
	machine_act(m, ACTION_REQUEST, task);
}

static bool dependency_met(const struct machine *m, const struct job_dependency *dependency)
{
	const struct type_tally *type = &m->types[dependency->type];
	size_t ready = type->in[TASK_SUCCEEDED] + (dependency->on_start ? type->up : 0);
	return ready == type->count && type->rejoining == 0;
}

static bool dependencies_met(const struct machine *m, size_t type)
{
	const struct job_type *description = &m->job->types[type];
	for (size_t i = 0; i < description->dependency_count; i++)
		if (!dependency_met(m, &description->dependencies[i]))
			return false;
	return true;
}

/* The allocation timeout counts from the end of a back-off: nothing is asked for before. */
static void formation_begins(struct machine *m)
{
	m->formation_since = m->now > m->hold_until ? m->now : m->hold_until;
	if (m->job->allocation_timeout_ms > 0)
		machine_due(m, m->formation_since + m->job->allocation_timeout_ms);
}

void machine_activate_types(struct machine *m)
{
	if (m->state >= JOB_FINISHING || m->now < m->hold_until)
		return;
	bool any = false;
	for (size_t i = 0; i < m->job->type_count; i++) {
		struct type_tally *type = &m->types[i];
		if (type->active || !dependencies_met(m, i))
			continue;
		type->active = true;
		any = true;
		for (size_t k = 0; k < type->count; k++)
			ask(m, type->first + k);
	}
	if (any)
		formation_begins(m);
}

void machine_ask_again(struct machine *m, size_t task)
{
	if (m->state >= JOB_FINISHING || !m->extras[task].rejoin || m->tasks[task].has_container)
		return;
	if (m->now < m->hold_until)
		machine_due(m, m->hold_until);
	else
		ask(m, task);
}

void machine_ask_rejoining(struct machine *m)
{
	for (size_t i = 0; i < m->job->type_count; i++) {
		struct type_tally *type = &m->types[i];
		for (size_t k = 0; k < type->count && type->rejoining > 0; k++) {
			machine_ask_again(m, type->first + k);
		}
	}
}

void machine_replace(struct machine *m, size_t task)
{
	machine_set_rejoin(m, task, true);
	machine_ask_again(m, task);
}

/* ---- the barrier -------------------------------------------------------------------------- */

static void start(struct machine *m, size_t task)
{
	struct task *t = &m->tasks[task];
	bool again = m->extras[task].restarting;
	if (m->types[t->type].in[TASK_RUNNING] == 0)
		m->types[t->type].begun_at = m->now;
	t->restart = again ? t->restart + 1 : 0;
	t->epoch = m->epoch;
	t->started_at = 0;
	machine_set_task(m, task, TASK_RUNNING);
	machine_act(m, ACTION_ORDER, task);
}

static bool may_start(const struct machine *m, size_t task)
{
	const struct task *t = &m->tasks[task];
	return t->state == TASK_REGISTERED && t->start_not_before <= m->now;
}

static void start_restarting(struct machine *m, struct type_tally *type)
{
	for (size_t k = 0; k < type->count && type->restarting > 0; k++)
		if (m->extras[type->first + k].restarting && may_start(m, type->first + k))
			start(m, type->first + k);
}

/* How many tasks of the formation wait at the barrier, or SIZE_MAX while one is still to come. */
static size_t waiting_at_barrier(const struct machine *m)
{
	size_t waiting = 0;
	for (size_t i = 0; i < m->job->type_count; i++) {
		const struct type_tally *type = &m->types[i];
		if (!type->active)
			continue;
		if (type->in[TASK_REQUESTED] + type->in[TASK_ALLOCATED] + type->in[TASK_LAUNCHING] +
			    type->in[TASK_STOPPING] + type->rejoining >
		    0)
			return SIZE_MAX;
		waiting += type->in[TASK_REGISTERED] - type->restarting;
	}
	return waiting;
}

static void start_waiting(struct machine *m)
{
	size_t waiting = 0;
	for (size_t i = 0; i < m->job->type_count; i++)
		waiting += m->types[i].in[TASK_REGISTERED] - m->types[i].restarting;
	if (waiting == 0)
		return;
	machine_act(m, ACTION_EPOCH, 0);
	machine_set_job(m, JOB_RUNNING);
	for (size_t i = 0; i < m->job->type_count; i++) {
		struct type_tally *type = &m->types[i];
		for (size_t k = 0; k < type->count && type->in[TASK_REGISTERED] > 0; k++)
			if (may_start(m, type->first + k) && !m->extras[type->first + k].restarting)
				start(m, type->first + k);
	}
}

void machine_open_barrier(struct machine *m)
{
	if (m->state >= JOB_FINISHING)
		return;
	for (size_t i = 0; i < m->job->type_count; i++)
		start_restarting(m, &m->types[i]);
	if (m->now < m->hold_until) {
		machine_due(m, m->hold_until);
		return;
	}
	size_t waiting = waiting_at_barrier(m);
	if (m->job->mode == JOB_MODE_FCFS || (waiting > 0 && waiting != SIZE_MAX))
		start_waiting(m);
}

void machine_start_alone(struct machine *m, size_t task)
{
	if (m->now < m->hold_until)
		return;
	machine_act(m, ACTION_EPOCH, 0);
	machine_set_job(m, JOB_RUNNING);
	start(m, task);
}

/* ---- forming anew ------------------------------------------------------------------------- */

int64_t machine_backoff(struct machine *m, int times)
{
	if (times <= 0 || m->job->retry_delay_ms <= 0)
		return 0;
	int doublings = times - 1 < BACKOFF_DOUBLINGS ? times - 1 : BACKOFF_DOUBLINGS;
	m->random ^= m->random << 13; /* xorshift64 */
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	int64_t delay = m->job->retry_delay_ms << doublings;
	return delay * (int64_t)(75 + m->random % 51) / 100; /* +-25% */
}

bool machine_can_charge(const struct machine *m, enum policy_charge charge)
{
	switch (charge) {
	case CHARGE_USER:
		return m->retries_used < m->job->retry_count;
	case CHARGE_INFRASTRUCTURE:
		return m->infrastructure_retries_used < m->job->infrastructure_retry_count;
	default:
		return false;
	}
}

/* A formation that held for a minute was a good one: the next pause is short again. */
#define GOOD_FORMATION_MS 60000

void machine_charge(struct machine *m, enum policy_charge charge)
{
	if (charge == CHARGE_USER)
		m->retries_used++;
	else
		m->infrastructure_retries_used++;
	if (m->state == JOB_RUNNING && m->now - m->state_since > GOOD_FORMATION_MS)
		m->streak = 0;
	/* The first retry of a program starts at once; a machine that failed gets a moment. */
	int times = m->streak++ + (charge == CHARGE_INFRASTRUCTURE ? 1 : 0);
	m->hold_until = m->now + machine_backoff(m, times);
	machine_due(m, m->hold_until);
	formation_begins(m);
}

static void rejoin_one(struct machine *m, size_t task)
{
	const struct task *t = &m->tasks[task];
	switch (t->state) {
	case TASK_RUNNING:
		machine_set_task(m, task, TASK_STOPPING);
		machine_act(m, ACTION_ORDER, task);
		break;
	case TASK_FAILED:
		if (!t->has_container) {
			machine_set_rejoin(m, task, true);
			break;
		}
		machine_set_task(m, task, TASK_STOPPING);
		machine_act(m, ACTION_ORDER, task);
		break;
	case TASK_REGISTERED:
		machine_set_restarting(m, task, false);
		m->tasks[task].start_not_before = 0;
		break;
	case TASK_STOPPING:
		machine_act(m, ACTION_ORDER, task); /* for the newer epoch */
		break;
	case TASK_SUCCEEDED:
	case TASK_LOST:
		machine_set_rejoin(m, task, true);
		break;
	default:
		break;
	}
}

static bool is_finished_stage(const struct machine *m, size_t type)
{
	return m->types[type].is_stage && m->types[type].in[TASK_SUCCEEDED] == m->types[type].count;
}

void machine_reform(struct machine *m, enum policy_charge charge)
{
	machine_charge(m, charge);
	m->epoch++;
	machine_set_job(m, JOB_REFORMING);
	for (size_t i = 0; i < m->job->type_count; i++) {
		struct type_tally *type = &m->types[i];
		type->exempt = false;
		if (!type->active || machine_role(m, i) == JOB_ROLE_SIDECAR ||
		    is_finished_stage(m, i))
			continue;
		for (size_t k = 0; k < type->count; k++)
			rejoin_one(m, type->first + k);
	}
	cause_finish(&m->cause);
	m->cause_task = -1;
	machine_ask_rejoining(m);
	machine_open_barrier(m);
}
