#include "job/machine_internal.h"

#include <inttypes.h>

#include "base/map.h"
#include "base/mem.h"

/* An executor that has not obeyed a stop order this long after its grace is given up. */
#define STOP_MARGIN_MS 30000

enum {
	TASKS_NAMED = 5,
	/* A gang that was preempted waits so long for replacements with what it still holds ... */
	PREEMPTED_PATIENCE_MS = 10000,
	/* ... and then asks for nothing, twice as long each time. */
	FIRST_YIELD_MS = 5000,
	LONGEST_YIELD_MS = 300000,
};

/* ---- one task ----------------------------------------------------------------------------- */

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* When the present state of the task becomes a failure, and which; INT64_MAX: never. An executor
 * that is ending a process may be silent for the grace on top. */
static int64_t task_limit(const struct machine *m, size_t task, enum cause_kind *kind)
{
	const struct task *t = &m->tasks[task];
	int64_t grace = m->job->types[t->type].stop_grace_ms;
	int64_t since = later(t->state_since, m->restored_at);
	*kind = CAUSE_EXECUTOR_LOST;
	switch (t->state) {
	case TASK_LAUNCHING:
		*kind = CAUSE_REGISTRATION_TIMEOUT;
		return m->job->registration_timeout_ms > 0 ? since + m->job->registration_timeout_ms
							   : INT64_MAX;
	case TASK_REGISTERED:
		return t->heard_at + job_heartbeat_timeout_ms(m->job);
	case TASK_RUNNING:
		return t->heard_at + job_heartbeat_timeout_ms(m->job) + (t->process_up ? 0 : grace);
	case TASK_STOPPING: {
		int64_t beat = t->heard_at + job_heartbeat_timeout_ms(m->job) + grace;
		int64_t silence = since + grace + STOP_MARGIN_MS;
		return beat < silence ? beat : silence;
	}
	default:
		return INT64_MAX;
	}
}

/* A tick comes several times within the limit of silence: that one is late tells that the AM itself
 * stood still. */
static void look_by(struct machine *m, int64_t when)
{
	int64_t soon = m->now + job_heartbeat_timeout_ms(m->job) / 4;
	when = when < soon ? when : soon;
	if (when < m->look_at)
		m->look_at = when;
	machine_due(m, m->look_at);
}

void machine_watch(struct machine *m, size_t task)
{
	enum cause_kind kind;

	look_by(m, task_limit(m, task, &kind));
}

/* The caller frees. */
static char *describe_loss(const struct machine *m, const struct task *t, enum cause_kind kind)
{
	char *since cleanup_free = str_format_duration(m->now - t->state_since);
	char *silence cleanup_free = str_format_duration(m->now - t->heard_at);

	if (kind == CAUSE_REGISTRATION_TIMEOUT)
		return mem_printf("its executor did not register within %s", since);
	if (t->state == TASK_STOPPING && m->now - t->heard_at < job_heartbeat_timeout_ms(m->job))
		return mem_printf("its executor did not end the program within %s", since);
	return mem_printf("its executor was not heard of for %s", silence);
}

static void give_up(struct machine *m, size_t task, enum cause_kind kind, size_t others)
{
	const struct task *t = &m->tasks[task];
	char *loss cleanup_free = describe_loss(m, t, kind);
	char *text cleanup_free =
		others > 0 ? mem_printf("%s, and neither were those of %zu more tasks on %s", loss,
					others, t->host)
			   : mem_strdup(loss);
	struct cause cause = {.kind = kind, .text = text};
	machine_give_up(m, task, &cause);
}

/* A task that is given up with others. */
struct lost {
	size_t task;
	enum cause_kind kind;
};

/* For the first lost executor of each host, how many others were there: what befell a machine is
 * told once. */
static void count_others(const struct machine *m, const struct lost *lost, size_t count,
			 size_t *others)
{
	struct map *hosts = map_create(NULL);

	for (size_t i = 0; i < count; i++) {
		const char *host = m->tasks[lost[i].task].host;
		if (lost[i].kind != CAUSE_EXECUTOR_LOST || !host)
			continue;
		size_t *first = map_get(hosts, host);
		if (first)
			++*first;
		else
			map_set(hosts, host, &others[i]);
	}
	map_destroy(hosts);
}

/* All at once: the first of them may make the job form anew, and an order to stop would wait for
 * the others. */
static void give_up_all(struct machine *m, const struct lost *lost, size_t count)
{
	size_t *others cleanup_free = mem_alloc_array(count, sizeof(*others));

	count_others(m, lost, count, others);
	for (size_t i = 0; i < count && m->state < JOB_FINISHING; i++) {
		enum cause_kind now;
		if (task_limit(m, lost[i].task, &now) != INT64_MAX)
			give_up(m, lost[i].task, lost[i].kind, others[i]);
	}
}

/* Looks at every task, so not too often: what is due soon may wait for what is due with it. */
static void check_tasks(struct machine *m)
{
	int64_t step = m->job->heartbeat_interval_ms / 4 + 1;
	struct lost *lost cleanup_free = NULL;
	size_t count = 0;

	if (m->now < m->look_at) {
		machine_due(m, m->look_at);
		return;
	}
	m->look_at = INT64_MAX;
	for (size_t task = 0; task < m->task_count; task++) {
		enum cause_kind kind;
		int64_t limit = task_limit(m, task, &kind);
		if (limit <= m->now) {
			lost = lost ? lost : mem_alloc_array(m->task_count, sizeof(*lost));
			lost[count++] = (struct lost){task, kind};
		} else if (limit != INT64_MAX) {
			look_by(m, limit > m->now + step ? limit : m->now + step);
		}
	}
	if (count > 0)
		give_up_all(m, lost, count);
}

/* ---- the job ------------------------------------------------------------------------------ */

/* "; worker:1, worker:2 and 3 more still ran", of this type or, if it is -1, of all. */
static char *describe_running(const struct machine *m, int64_t type)
{
	struct str text = {0};
	size_t count = 0;

	for (size_t task = 0; task < m->task_count; task++) {
		const struct task *t = &m->tasks[task];
		bool is_meant = type < 0 ? machine_role(m, t->type) != JOB_ROLE_SIDECAR
					 : t->type == (size_t)type;
		if (t->state != TASK_RUNNING || !is_meant)
			continue;
		if (++count <= TASKS_NAMED)
			str_append_format(&text, "%s%s:%d", count == 1 ? "; " : ", ",
					  m->job->types[t->type].name, t->index);
	}
	if (count > TASKS_NAMED)
		str_append_format(&text, " and %zu more", count - TASKS_NAMED);
	if (count > 0)
		str_append(&text, " still ran");
	return str_steal(&text);
}

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
	char *running cleanup_free = describe_running(m, -1);
	machine_fail(m, CAUSE_APPLICATION_TIMEOUT,
		     "the job did not end within tony.application.timeout (%s)%s", text, running);
}

static size_t count_missing(const struct machine *m)
{
	size_t missing = 0;
	for (size_t i = 0; i < m->job->type_count; i++)
		missing += machine_missing(m, i);
	return missing;
}

/* Of all tasks that the job cannot do without. */
static size_t count_needed(const struct machine *m)
{
	size_t needed = 0;
	for (size_t i = 0; i < m->job->type_count; i++)
		needed += (size_t)job_type_minimum(&m->job->types[i]);
	return needed;
}

/* Gives back what a gang holds while it waits for the rest, so that another gang can form. */
static void give_gang_back(struct machine *m)
{
	for (size_t task = 0; task < m->task_count; task++) {
		enum task_state state = m->tasks[task].state;
		if (state == TASK_REQUESTED)
			machine_act(m, ACTION_CANCEL, task);
		else if (state == TASK_ALLOCATED || state == TASK_LAUNCHING ||
			 (state == TASK_REGISTERED && !m->tasks[task].restarting))
			machine_act(m, ACTION_RELEASE, task);
		else
			continue;
		machine_set_task(m, task, TASK_LOST);
		machine_set_rejoin(m, task, true);
	}
	machine_ask_rejoining(m);
}

/* Of a gang the scheduler knows how many containers there are. */
static void fail_for_lack(struct machine *m)
{
	char *timeout cleanup_free = str_format_duration(m->job->allocation_timeout_ms);

	if (m->waiting)
		machine_fail(m, CAUSE_ALLOCATION_TIMEOUT,
			     "not all tasks were there within tony.container.allocation.timeout "
			     "(%s): the job %s",
			     timeout, m->waiting);
	else
		machine_fail(m, CAUSE_ALLOCATION_TIMEOUT,
			     "%zu of %zu task%s were not there within "
			     "tony.container.allocation.timeout (%s)",
			     count_missing(m), count_needed(m), str_plural(count_needed(m)),
			     timeout);
}

static void check_allocation_timeout(struct machine *m)
{
	int64_t timeout = m->job->allocation_timeout_ms;
	if (timeout <= 0 || m->job->mode != JOB_MODE_GANG || count_missing(m) == 0)
		return;
	int64_t since = later(m->formation_since, m->restored_at);
	if (m->now < since + timeout) {
		machine_due(m, since + timeout);
		return;
	}
	bool holds_some =
		m->in[TASK_ALLOCATED] + m->in[TASK_LAUNCHING] + m->in[TASK_REGISTERED] > 0;
	if (holds_some && machine_can_charge(m, CHARGE_INFRASTRUCTURE)) {
		machine_charge(m, CHARGE_INFRASTRUCTURE);
		machine_note(m, 0,
			     "the gang was not complete in time: its containers are given back, "
			     "and asked for again after a pause");
		give_gang_back(m);
		machine_due(m, m->formation_since + timeout);
		return;
	}
	fail_for_lack(m);
}

/* ---- a gang that was preempted -------------------------------------------------------------- */

/*
 * YARN preempts by sums: it takes from a queue what another one lacks, whether or not the pieces
 * are on nodes where the other's containers fit. A gang that lost two of six containers and holds
 * the other four may so keep the claimant from its last one, while neither runs. So it waits for
 * replacements for a moment only, and then gives back all that it holds idle. That costs it
 * nothing, since no program of it runs, and it asks for all again together.
 */

static bool lacks_preempted(const struct machine *m)
{
	for (size_t task = 0; task < m->task_count; task++)
		if (m->tasks[task].state == TASK_REQUESTED &&
		    m->tasks[task].cause.kind == CAUSE_PREEMPTED &&
		    machine_missing(m, m->tasks[task].type) > 0)
			return true;
	return false;
}

/* Those at the barrier, and those on their way to it. */
static size_t count_idle(const struct machine *m)
{
	size_t idle = 0;

	for (size_t i = 0; i < m->job->type_count; i++)
		if (machine_role(m, i) != JOB_ROLE_SIDECAR)
			idle += m->types[i].in[TASK_REGISTERED] + m->types[i].in[TASK_LAUNCHING];
	return idle;
}

static void yield(struct machine *m, size_t idle)
{
	int64_t pause = machine_pause(m, FIRST_YIELD_MS, LONGEST_YIELD_MS, m->streak);
	machine_charge(m, CHARGE_PREEMPTION);
	char *length cleanup_free = str_format_duration(pause);
	machine_note(m, 0,
		     "no other containers came for those that were preempted: the job gives back "
		     "%zu that it holds idle, and asks for all again in %s",
		     idle, length);
	m->has_yielded = true;
	m->hold_until = m->now + pause;
	m->unrecorded = true;
	machine_formation_begins(m);
	machine_due(m, m->hold_until);
	give_gang_back(m);
}

static void check_preempted(struct machine *m)
{
	if (m->state != JOB_REFORMING || m->job->mode != JOB_MODE_GANG || m->has_yielded)
		return;
	int64_t since = later(m->formation_since, m->restored_at);
	size_t idle = count_idle(m);
	if (!lacks_preempted(m))
		return;
	if (m->now < since + PREEMPTED_PATIENCE_MS)
		machine_due(m, since + PREEMPTED_PATIENCE_MS);
	else if (m->in[TASK_STOPPING] > 0)
		machine_due(m,
			    m->now + PREEMPTED_PATIENCE_MS / 10); /* the others are not idle yet */
	else if (idle > 0)
		yield(m, idle);
}

/* False: one of the group's members still lives (or has yet to). */
static bool find_group_end(const struct machine *m, const struct job_group_timeout *group,
			   int64_t *last)
{
	*last = INT64_MIN;
	for (size_t i = 0; i < group->member_count; i++) {
		const struct type_tally *type = &m->types[group->members[i]];
		size_t ended =
			type->in[TASK_SUCCEEDED] + type->in[TASK_FAILED] + type->in[TASK_LOST];
		if (ended < machine_size(m, group->members[i]) || type->rejoining > 0)
			return false;
		if (type->last_end > *last)
			*last = type->last_end;
	}
	return true;
}

static void check_group(struct machine *m, const struct job_group_timeout *group)
{
	struct type_tally *type = &m->types[group->type];
	if (type->exempt || type->in[TASK_RUNNING] == 0)
		return;
	int64_t end;
	if (!find_group_end(m, group, &end))
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
		m->unrecorded = true;
		machine_note(m, type->first,
			     "%s still runs %s after group %s ended: not waited for", name, text,
			     group->group);
		machine_check_end(m);
		return;
	}
	char *running cleanup_free = describe_running(m, (int64_t)group->type);
	machine_fail(m, CAUSE_GROUP_TIMEOUT,
		     "%s still runs %s after group %s ended "
		     "(tony.application.dependency.%s.timeout.after.%s)%s",
		     name, text, group->group, name, group->group, running);
}

static bool are_all_scheduled(const struct machine *m)
{
	for (size_t i = 0; i < m->job->type_count; i++) {
		if (m->types[i].active ? machine_missing(m, i) > 0 : m->types[i].wanted > 0)
			return false;
	}
	return true;
}

void machine_check_groups(struct machine *m)
{
	/* As in TonY: not before every task has been scheduled. */
	if (m->job->group_timeout_count == 0 || !are_all_scheduled(m))
		return;
	for (size_t i = 0; i < m->job->group_timeout_count && m->state < JOB_FINISHING; i++)
		check_group(m, &m->job->group_timeouts[i]);
}

/* A tick that comes late is of an AM that stood still itself (SIGSTOP, a suspended machine, one
 * with much to do): what executors said meanwhile has yet to be read. By so much their silence is
 * shorter, and no more: an AM that is late at each tick finds a lost executor, too. */
static void excuse_silence(struct machine *m)
{
	int64_t late = m->deadline == INT64_MAX ? 0 : m->now - m->deadline;

	if (late < m->job->heartbeat_interval_ms)
		return;
	for (size_t task = 0; task < m->task_count; task++) {
		struct task *t = &m->tasks[task];
		t->heard_at = t->heard_at + late < m->now ? t->heard_at + late : m->now;
		t->blames_since = t->blames_peer ? t->blames_since + late : 0;
	}
}

void machine_tick(struct machine *m)
{
	excuse_silence(m);
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
		check_preempted(m);
	if (m->state < JOB_FINISHING)
		check_tasks(m);
	if (m->state < JOB_FINISHING)
		machine_judge_blame(m);
	if (m->state < JOB_FINISHING)
		machine_check_groups(m);
	if (m->state >= JOB_FINISHING)
		return;
	machine_activate_types(m);
	machine_ask_rejoining(m);
	machine_open_barrier(m);
}
