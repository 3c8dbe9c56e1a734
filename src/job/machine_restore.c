#include "base/mem.h"
#include "job/machine_internal.h"
#include "job/view.h"

/* The journal's wall-clock times on this AM's monotonic clock. */
struct clocks {
	int64_t now, wall_now;
};

/* A time that has passed; a wall clock that was set back does not make it a future one. */
static int64_t past(const struct clocks *clocks, int64_t wall_ms)
{
	int64_t age = clocks->wall_now - wall_ms;
	return clocks->now - (age > 0 ? age : 0);
}

/* The end of a back-off; 0: it is over. */
static int64_t pause_end(const struct clocks *clocks, int64_t since_ms, int64_t pause_ms)
{
	int64_t end = past(clocks, since_ms) + pause_ms;
	return end > clocks->now ? end : 0;
}

/* ---- tasks -------------------------------------------------------------------------------- */

#define COUNT_CAP                                                                                  \
	(1 << 30) /* no journal of ours counts that far, and none overflows from there             \
		   */

static int count(int value)
{
	return value < COUNT_CAP ? value : COUNT_CAP;
}

static int port(int value)
{
	return value <= UINT16_MAX ? value : 0;
}

static bool holds_container(enum task_state state)
{
	return state >= TASK_ALLOCATED && state <= TASK_STOPPING;
}

/* In its present attempt. Of one that registered before the scheduler told of its container no name
 * is known, only its address. */
static bool had_container(const struct task_view *row)
{
	return row->container || (row->host && port(row->port) > 0);
}

/* What its state is taken for. A journal of ours holds no other states after an event; one that
 * does is read so that the job goes on, or ends. */
static enum task_state state_of(const struct machine *m, const struct task_view *row)
{
	if (m->state >= JOB_FINISHING)
		return row->state < TASK_SUCCEEDED ? TASK_STOPPED : row->state;
	bool may_rest = job_type_is_elastic(&m->job->types[row->type]);
	if (may_rest &&
	    (row->state == TASK_STOPPED ||
	     (row->state == TASK_WAITING && (size_t)row->index >= m->types[row->type].wanted)))
		return row->state;
	if (row->state == TASK_STOPPED || (holds_container(row->state) && !had_container(row)))
		return TASK_LOST;
	if (row->state == TASK_WAITING && m->types[row->type].active)
		return TASK_LOST;
	return row->state == TASK_ALLOCATED ? TASK_LAUNCHING : row->state;
}

static bool has_ended(enum task_state state)
{
	return state == TASK_SUCCEEDED || state == TASK_FAILED || state == TASK_LOST;
}

static void restore_state(struct machine *m, size_t task, const struct task_view *row,
			  const struct clocks *clocks)
{
	struct task *t = &m->tasks[task];
	struct type_tally *type = &m->types[t->type];
	t->state = state_of(m, row);
	t->state_since = past(clocks, row->state_since_ms);
	type->in[TASK_WAITING]--;
	m->in[TASK_WAITING]--;
	type->in[t->state]++;
	m->in[t->state]++;
	if (has_ended(t->state) && (type->last_end == 0 || t->state_since > type->last_end))
		type->last_end = t->state_since;
}

/* What is to become of it. */
static void restore_plans(struct machine *m, size_t task, const struct task_view *row,
			  const struct clocks *clocks)
{
	struct task *t = &m->tasks[task];
	bool rejoins = row->rejoin || t->state != row->state;
	if (has_ended(t->state) && m->state < JOB_FINISHING)
		machine_set_rejoin(m, task, rejoins);
	if (t->rejoin)
		t->ask_not_before = pause_end(clocks, row->state_since_ms, row->pause_ms);
	machine_set_blames_peer(m, task, row->blames_peer && t->state == TASK_RUNNING);
	if (row->restarting && t->state == TASK_REGISTERED)
		machine_await_restart(m, task,
				      pause_end(clocks, row->state_since_ms, row->pause_ms));
	machine_set_unmet(m, task, t->state == TASK_REGISTERED && !t->restarting);
	t->unsure = t->state == TASK_LAUNCHING;
}

/* It is believed to have the container that its present attempt ever had. */
static void restore_container(struct machine *m, size_t task, const struct task_view *row)
{
	struct task *t = &m->tasks[task];
	t->container = mem_strdup(row->container);
	t->host = mem_strdup(row->host);
	t->port = t->host ? port(row->port) : 0;
	t->door = row->door;
	machine_set_up(m, task, row->up && t->state == TASK_RUNNING);
	t->ui_port = t->process_up ? port(row->ui_port) : 0;
	t->heard_at = m->now;
	if (had_container(row) && row->state >= TASK_ALLOCATED)
		machine_gain_container(m, task);
}

static void restore_task(struct machine *m, size_t task, const struct task_view *row,
			 const struct clocks *clocks)
{
	struct task *t = &m->tasks[task];
	t->attempt = count(row->attempt);
	t->epoch = count(row->epoch);
	t->restart = count(row->restart);
	t->restarts_used = count(row->restarts_used);
	t->misses = count(row->misses);
	t->moved = row->moved;
	t->blamed = mem_strdup(row->blamed);
	t->ports_lost = count(row->ports_lost);
	t->port_open = row->port_open;
	t->port_missed = row->port_missed;
	m->types[t->type].missed += t->port_missed;
	m->types[t->type].started += t->epoch == m->epoch;
	if (!row->is_well)
		cause_copy(&t->cause, &row->cause);
	restore_state(m, task, row, clocks);
	restore_plans(m, task, row, clocks);
	restore_container(m, task, row);
}

/* ---- the job ------------------------------------------------------------------------------ */

static void restore_job(struct machine *m, const struct job_view *view, const struct clocks *clocks)
{
	m->now = clocks->now;
	m->state = view->state;
	m->outcome = view->outcome;
	if (job_state_is_final(m->state))
		m->outcome = m->state;
	else if (m->state == JOB_FINISHING && !job_state_is_final(m->outcome))
		m->outcome = JOB_FAILED;
	m->epoch = view->epoch > 0 ? count(view->epoch) : 1;
	m->retries_used = count(view->retries);
	m->infrastructure_retries_used = count(view->infrastructure_retries);
	m->preemptions = count(view->preemptions);
	m->streak = count(view->streak);
	m->state_since = past(clocks, view->state_since_ms);
	m->submitted_at = past(clocks, view->forming_ms > 0 ? view->forming_ms : view->begun_ms);
	m->hold_until = pause_end(clocks, view->paused_at_ms, view->pause_ms);
	m->formation_since =
		m->hold_until > clocks->now ? m->hold_until : past(clocks, view->formation_ms);
	m->is_restored = true;
	m->restored_at = clocks->now;
	m->settle_until = clocks->now + m->job->elastic_settle_ms;
	m->finish_by = machine_finish_by(m);
	cause_copy(&m->cause, &view->cause);
	m->cause_task = m->cause.kind != CAUSE_NONE ? view->cause_task : -1;
	m->cause_epoch = count(view->cause_epoch);
}

static void restore_types(struct machine *m, const struct job_view *view,
			  const struct clocks *clocks)
{
	for (size_t i = 0; i < m->job->type_count; i++) {
		m->types[i].begun_at = past(clocks, view->types[i].begun_ms);
		m->types[i].exempt = view->types[i].exempt;
		m->types[i].wanted = (size_t)view->types[i].wanted;
	}
	for (size_t i = 0; i < view->task_count; i++) {
		const struct task_view *row = &view->tasks[i];
		/* With the job also those are stopped that never were asked for. */
		bool stopped = row->state == TASK_STOPPED && m->state >= JOB_FINISHING;
		if (row->attempt > 0 || (row->state != TASK_WAITING && !stopped))
			m->types[row->type].active = true;
	}
}

struct machine *machine_restore(const struct job *job, uint64_t seed, const struct job_view *view,
				int64_t now, int64_t wall_now)
{
	const struct clocks clocks = {now, wall_now};
	struct machine *m = machine_create(job, seed);
	if (view->state == JOB_SUBMITTED)
		return m;
	restore_job(m, view, &clocks);
	restore_types(m, view, &clocks);
	for (size_t task = 0; task < m->task_count; task++)
		restore_task(m, task, &view->tasks[task], &clocks);
	m->deadline = m->look_at = now;
	return m;
}

/* ---- going on ----------------------------------------------------------------------------- */

static void resume_task(struct machine *m, size_t task)
{
	const struct task *t = &m->tasks[task];
	if (t->state == TASK_REQUESTED)
		machine_act(m, ACTION_REQUEST, task);
	else if (t->state >= TASK_SUCCEEDED && t->has_container)
		machine_act(m, ACTION_RELEASE, task);
}

void machine_resume(struct machine *m, int64_t now, struct action_list *actions)
{
	m->out = actions;
	m->now = now;
	if (m->state == JOB_SUBMITTED || job_state_is_final(m->state))
		return;
	if (m->in[TASK_RUNNING] > 0)
		machine_act(m, ACTION_EPOCH, 0);
	for (size_t task = 0; task < m->task_count; task++)
		resume_task(m, task);
	machine_check_end(m);
	machine_due(m, now);
}
