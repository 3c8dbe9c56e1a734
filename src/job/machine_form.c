#include "job/machine_internal.h"

#include "base/mem.h"

#define BACKOFF_LONGEST 64 /* times the first */

/* ---- asking for containers ---------------------------------------------------------------- */

static void ask(struct machine *m, size_t task)
{
	struct task *t = &m->tasks[task];
	machine_set_rejoin(m, task, false);
	t->attempt++;
	t->unsure = false;
	t->restart = 0;
	m->types[t->type].started -= t->epoch == m->epoch;
	t->epoch = 0;
	t->port = 0;
	t->door = 0;
	mem_replace(&t->container, NULL);
	machine_set_task(m, task, TASK_REQUESTED);
	machine_act(m, ACTION_REQUEST, task);
}

static bool dependency_met(const struct machine *m, const struct job_dependency *dependency)
{
	const struct type_tally *type = &m->types[dependency->type];
	size_t running = type->in[TASK_RUNNING], succeeded = type->in[TASK_SUCCEEDED];
	if (dependency->on_start && machine_gathers(m, dependency->type))
		return running + succeeded > 0 && type->up == running && type->restarting == 0;
	size_t ready = succeeded + (dependency->on_start ? type->up : 0);
	return ready == machine_size(m, dependency->type) && type->rejoining == 0;
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
void machine_formation_begins(struct machine *m)
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
		if (type->active || type->count == 0 || !dependencies_met(m, i))
			continue;
		type->active = true;
		any = true;
		for (size_t k = 0; k < type->wanted; k++)
			ask(m, type->first + k);
	}
	if (any)
		machine_formation_begins(m);
}

void machine_ask_again(struct machine *m, size_t task)
{
	if (m->state >= JOB_FINISHING || !m->tasks[task].rejoin || m->tasks[task].has_container)
		return;
	int64_t not_before = m->tasks[task].ask_not_before;
	if (not_before < m->hold_until)
		not_before = m->hold_until;
	if (m->now < not_before)
		machine_due(m, not_before);
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

void machine_wake(struct machine *m, size_t task)
{
	m->tasks[task].misses = 0;
	if (!m->tasks[task].has_container && m->now >= m->hold_until) {
		ask(m, task);
		return;
	}
	machine_set_task(m, task, TASK_LOST);
	machine_replace(m, task);
}

/* ---- the barrier -------------------------------------------------------------------------- */

void machine_run(struct machine *m, size_t task, int restart)
{
	struct task *t = &m->tasks[task];
	if (m->types[t->type].in[TASK_RUNNING] == 0)
		m->types[t->type].begun_at = m->now;
	t->restart = restart;
	t->port_open = m->types[t->type].missed > 0;
	machine_set_task(m, task, TASK_RUNNING);
	machine_act(m, ACTION_ORDER, task);
}

static void start(struct machine *m, size_t task)
{
	struct task *t = &m->tasks[task];
	m->types[t->type].started += t->epoch != m->epoch;
	t->epoch = m->epoch;
	machine_run(m, task, t->restarting ? t->restart + 1 : 0);
}

static bool waits_at_barrier(const struct machine *m, size_t task)
{
	const struct task *t = &m->tasks[task];
	return t->state == TASK_REGISTERED && !t->restarting && !t->unmet;
}

/* How many tasks of the formation wait at the barrier, or SIZE_MAX while one is still to come. */
static size_t waiting_at_barrier(struct machine *m)
{
	size_t waiting = 0;
	for (size_t i = 0; i < m->job->type_count; i++) {
		const struct type_tally *type = &m->types[i];
		if (!type->active || machine_gathers(m, i))
			continue;
		if (type->in[TASK_STOPPING] > 0 || type->unmet > 0 ||
		    (machine_count_coming(type) > 0 && !machine_may_start_without(m, i)))
			return SIZE_MAX;
		waiting += type->in[TASK_REGISTERED] - type->restarting;
	}
	return waiting;
}

static void start_type(struct machine *m, size_t i)
{
	struct type_tally *type = &m->types[i];
	for (size_t k = 0; k < type->count && type->in[TASK_REGISTERED] > 0; k++)
		if (waits_at_barrier(m, type->first + k))
			start(m, type->first + k);
}

static void start_waiting(struct machine *m)
{
	size_t waiting = 0;
	for (size_t i = 0; i < m->job->type_count; i++)
		if (!machine_gathers(m, i))
			waiting += m->types[i].in[TASK_REGISTERED] - m->types[i].restarting -
				   m->types[i].unmet;
	if (waiting == 0)
		return;
	machine_act(m, ACTION_EPOCH, 0);
	machine_set_job(m, JOB_RUNNING);
	for (size_t i = 0; i < m->job->type_count; i++)
		if (!machine_gathers(m, i))
			start_type(m, i);
	m->settle_until = m->now; /* who comes from now on is waited for anew */
	machine_settle_size(m);
}

void machine_start_arrivals(struct machine *m)
{
	machine_act(m, ACTION_EPOCH, 0);
	for (size_t i = 0; i < m->job->type_count; i++)
		if (machine_gathers(m, i))
			start_type(m, i);
}

void machine_open_barrier(struct machine *m)
{
	if (m->state >= JOB_FINISHING)
		return;
	size_t task;
	while (machine_next_restart(m, &task))
		start(m, task);
	if (m->now < m->hold_until) {
		machine_due(m, m->hold_until);
		return;
	}
	machine_grow(m);
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

int64_t machine_pause(struct machine *m, int64_t first, int64_t longest, int times)
{
	int64_t delay = first;
	for (int i = 1; i < times && delay < longest; i++)
		delay *= 2;
	if (delay > longest)
		delay = longest;
	m->random ^= m->random << 13; /* xorshift64 */
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	return delay * (int64_t)(75 + m->random % 51) / 100; /* +-25% */
}

int64_t machine_backoff(struct machine *m, int times)
{
	int64_t first = m->job->retry_delay_ms;
	if (times <= 0 || first <= 0)
		return 0;
	return machine_pause(m, first, first * BACKOFF_LONGEST, times);
}

bool machine_can_charge(const struct machine *m, enum policy_charge charge)
{
	switch (charge) {
	case CHARGE_USER:
		return m->retries_used < m->job->retry_count;
	case CHARGE_INFRASTRUCTURE:
		return m->infrastructure_retries_used < m->job->infrastructure_retry_count;
	case CHARGE_PORT:
	case CHARGE_PREEMPTION:
		return true;
	default:
		return false;
	}
}

void machine_charge(struct machine *m, enum policy_charge charge)
{
	if (charge == CHARGE_USER)
		m->retries_used++;
	else if (charge == CHARGE_INFRASTRUCTURE)
		m->infrastructure_retries_used++;
	else if (charge == CHARGE_PREEMPTION)
		m->preemptions++;
	/* A thief who lets the job run for a while gains nothing by it. */
	if (charge != CHARGE_PORT && m->state == JOB_RUNNING &&
	    m->now - m->state_since > GOOD_FORMATION_MS)
		m->streak = 0;
	/* The first retry of a program starts at once; the cluster gets a moment. */
	bool is_programs = charge == CHARGE_USER || charge == CHARGE_PORT;
	int times = m->streak++ + (is_programs ? 0 : 1);
	m->hold_until = m->now + machine_backoff(m, times);
	machine_due(m, m->hold_until);
	machine_formation_begins(m);
	m->unrecorded = true;
}

static void will_rejoin(struct machine *m, size_t task)
{
	if (m->tasks[task].rejoin)
		return;
	machine_set_rejoin(m, task, true);
	machine_tell(m, task);
}

void machine_stop_to_rejoin(struct machine *m, size_t task)
{
	machine_set_task(m, task, TASK_STOPPING);
	machine_act(m, ACTION_ORDER, task);
}

static void rejoin_one(struct machine *m, size_t task)
{
	const struct task *t = &m->tasks[task];
	switch (t->state) {
	case TASK_RUNNING:
		machine_stop_to_rejoin(m, task);
		break;
	case TASK_REGISTERED:
		if (t->restarting) {
			machine_forget_restart(m, task);
			machine_tell(m, task);
		}
		break;
	case TASK_STOPPING:
		machine_act(m, ACTION_ORDER, task); /* for the newer epoch */
		break;
	case TASK_SUCCEEDED:
	case TASK_FAILED: /* and was let go */
	case TASK_LOST:
		will_rejoin(m, task);
		break;
	case TASK_WAITING: /* of an elastic type, as is the next */
	case TASK_STOPPED:
		if ((size_t)t->index < m->types[t->type].wanted)
			machine_wake(m, task);
		break;
	default:
		break;
	}
}

bool machine_is_finished_stage(const struct machine *m, size_t type)
{
	return m->types[type].is_stage &&
	       m->types[type].in[TASK_SUCCEEDED] == machine_size(m, type);
}

static void begin_epoch(struct machine *m)
{
	m->epoch++;
	m->has_yielded = false;
	for (size_t i = 0; i < m->job->type_count; i++)
		m->types[i].started = 0;
	machine_set_job(m, JOB_REFORMING);
}

static void rejoin_all(struct machine *m)
{
	for (size_t i = 0; i < m->job->type_count; i++) {
		struct type_tally *type = &m->types[i];
		type->exempt = false;
		if (!type->active || machine_role(m, i) == JOB_ROLE_SIDECAR ||
		    machine_is_finished_stage(m, i))
			continue;
		for (size_t k = 0; k < type->count; k++)
			rejoin_one(m, type->first + k);
	}
	machine_ask_rejoining(m);
	machine_open_barrier(m);
}

void machine_form_anew(struct machine *m)
{
	begin_epoch(m);
	machine_formation_begins(m);
	rejoin_all(m);
}

void machine_reform(struct machine *m, size_t failed, enum policy_charge charge)
{
	machine_charge(m, charge);
	begin_epoch(m);
	if (m->tasks[failed].state == TASK_FAILED)
		machine_stop_to_rejoin(m, failed);
	else
		will_rejoin(m, failed);
	rejoin_all(m);
}

/* ---- restarts in place that wait for the end of their back-off ----------------------------- */

/* A heap of when and which, the soonest first. Who does not wait any more stays in it until then,
 * and is passed over. */

static bool is_sooner(const struct pause *a, const struct pause *b)
{
	return a->when != b->when ? a->when < b->when : a->task < b->task;
}

static void push(struct machine *m, struct pause pause)
{
	if (m->pause_count == m->pause_capacity) {
		m->pause_capacity = m->pause_capacity ? 2 * m->pause_capacity : 16;
		m->pauses = mem_realloc_array(m->pauses, m->pause_capacity, sizeof(*m->pauses));
	}
	size_t at = m->pause_count++;
	for (; at > 0 && is_sooner(&pause, &m->pauses[(at - 1) / 2]); at = (at - 1) / 2)
		m->pauses[at] = m->pauses[(at - 1) / 2];
	m->pauses[at] = pause;
}

static void pop(struct machine *m)
{
	struct pause last = m->pauses[--m->pause_count];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < m->pause_count) {
		if (child + 1 < m->pause_count &&
		    is_sooner(&m->pauses[child + 1], &m->pauses[child]))
			child++;
		if (!is_sooner(&m->pauses[child], &last))
			break;
		m->pauses[at] = m->pauses[child];
		at = child;
	}
	m->pauses[at] = last;
}

void machine_await_restart(struct machine *m, size_t task, int64_t when)
{
	struct task *t = &m->tasks[task];
	t->start_not_before = when;
	if (!t->restarting)
		m->types[t->type].restarting++;
	t->restarting = true;
	push(m, (struct pause){when, task});
	machine_due(m, when);
}

void machine_forget_restart(struct machine *m, size_t task)
{
	struct task *t = &m->tasks[task];
	t->start_not_before = 0;
	if (t->restarting)
		m->types[t->type].restarting--;
	t->restarting = false;
}

bool machine_next_restart(struct machine *m, size_t *task)
{
	while (m->pause_count > 0 && m->pauses[0].when <= m->now) {
		struct pause pause = m->pauses[0];
		pop(m);
		*task = pause.task;
		if (m->tasks[*task].restarting && m->tasks[*task].start_not_before == pause.when)
			return true;
	}
	if (m->pause_count > 0)
		machine_due(m, m->pauses[0].when);
	return false;
}
