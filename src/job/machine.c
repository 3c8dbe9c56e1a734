#include "job/machine_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/*
 * The task's life: what an event does in a state. NULL: the event is stale or impossible there and
 * changes nothing. Every handler that moves a task is in this table, so this is the whole of it.
 */
static machine_handler *const task_table[TASK_STATE_COUNT][EVENT_KIND_COUNT] = {
	[TASK_WAITING] = {0},
	[TASK_REQUESTED] =
		{
			[EVENT_ALLOCATED] = task_allocated,
			[EVENT_REFUSED] = task_refused,
			[EVENT_REGISTERED] = task_registered_first,
		},
	[TASK_ALLOCATED] =
		{
			[EVENT_CONTAINER_ENDED] = task_gone_launching,
		},
	[TASK_LAUNCHING] =
		{
			[EVENT_REGISTERED] = task_registered,
			[EVENT_CONTAINER_ENDED] = task_gone_launching,
			[EVENT_PREEMPTED] = task_preempted,
		},
	[TASK_REGISTERED] =
		{
			[EVENT_ALLOCATED] = task_container_known,
			[EVENT_REGISTERED] = task_registered_again,
			[EVENT_EXITED] = task_exited_again,
			[EVENT_BEAT] = task_beat,
			[EVENT_CONTAINER_ENDED] = task_gone,
			[EVENT_PREEMPTED] = task_preempted,
		},
	[TASK_RUNNING] =
		{
			[EVENT_ALLOCATED] = task_container_known,
			[EVENT_REGISTERED] = task_registered_again,
			[EVENT_STARTED] = task_started,
			[EVENT_EXITED] = task_exited,
			[EVENT_BEAT] = task_beat,
			[EVENT_CONTAINER_ENDED] = task_gone,
			[EVENT_PREEMPTED] = task_preempted,
			[EVENT_RESTART_TASK] = task_restart,
		},
	[TASK_STOPPING] =
		{
			[EVENT_ALLOCATED] = task_container_known,
			[EVENT_REGISTERED] = task_reregistered,
			[EVENT_STARTED] = task_accept,
			[EVENT_EXITED] = task_accept,
			[EVENT_BEAT] = task_beat,
			[EVENT_CONTAINER_ENDED] = task_gone_stopping,
			[EVENT_PREEMPTED] = task_preempted,
		},
	[TASK_SUCCEEDED] =
		{
			[EVENT_ALLOCATED] = task_container_known,
			[EVENT_EXITED] = task_exited_again,
			[EVENT_BEAT] = task_beat,
			[EVENT_CONTAINER_ENDED] = task_gone_after_end,
		},
	[TASK_FAILED] =
		{
			[EVENT_ALLOCATED] = task_container_known,
			[EVENT_EXITED] = task_exited_again,
			[EVENT_BEAT] = task_beat,
			[EVENT_CONTAINER_ENDED] = task_gone_after_end,
		},
	[TASK_LOST] =
		{
			[EVENT_ALLOCATED] = task_surplus,
			[EVENT_CONTAINER_ENDED] = task_gone_after_end,
		},
	[TASK_STOPPED] =
		{
			[EVENT_ALLOCATED] = task_surplus,
			[EVENT_REGISTERED] = task_accept,
			[EVENT_STARTED] = task_accept,
			[EVENT_EXITED] = task_accept,
			[EVENT_BEAT] = task_beat,
			[EVENT_CONTAINER_ENDED] = task_gone_after_end,
		},
};

/* ---- writers ------------------------------------------------------------------------------ */

static struct action *append_action(struct machine *m, enum action_kind kind, size_t task)
{
	struct action_list *list = m->out;
	if (list->count == list->capacity) {
		list->capacity = list->capacity ? 2 * list->capacity : 16;
		list->items = mem_realloc_array(list->items, list->capacity, sizeof(*list->items));
	}
	struct action *action = &list->items[list->count++];
	*action = (struct action){.kind = kind, .task = task};
	return action;
}

void machine_act(struct machine *m, enum action_kind kind, size_t task)
{
	append_action(m, kind, task)->attempt = m->task_count ? m->tasks[task].attempt : 0;
}

void machine_tell(struct machine *m, size_t task)
{
	struct action *action = append_action(m, ACTION_TASK_CHANGED, task);
	action->attempt = m->tasks[task].attempt;
	action->from = action->to = (int)m->tasks[task].state;
}

void machine_note(struct machine *m, size_t task, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	append_action(m, ACTION_NOTE, task)->text = mem_vprintf(format, args);
	va_end(args);
}

void machine_set_task(struct machine *m, size_t task, enum task_state state)
{
	struct task *t = &m->tasks[task];
	struct type_tally *type = &m->types[t->type];
	enum task_state from = t->state;
	if (from == TASK_RUNNING) {
		machine_set_up(m, task, false);
		machine_set_blames_peer(m, task, false);
	}
	if (from == TASK_RUNNING && m->now - t->state_since > GOOD_FORMATION_MS)
		t->misses = 0;
	if (from == TASK_REGISTERED) {
		machine_forget_restart(m, task);
		machine_set_unmet(m, task, false);
	}
	if (state == TASK_SUCCEEDED || state == TASK_FAILED || state == TASK_LOST)
		type->last_end = m->now;
	type->in[from]--;
	m->in[from]--;
	t->state = state;
	t->state_since = m->now;
	type->in[state]++;
	m->in[state]++;
	machine_watch(m, task);
	struct action *action = append_action(m, ACTION_TASK_CHANGED, task);
	action->attempt = t->attempt;
	action->from = (int)from;
	action->to = (int)state;
}

static void tell_job(struct machine *m, enum job_state to)
{
	struct action *action = append_action(m, ACTION_JOB_CHANGED, 0);
	action->from = (int)m->state;
	action->to = (int)to;
	m->recorded = true;
}

/* What the job re-formed for has been repaired, or something else decided. */
static void forget_past_cause(struct machine *m)
{
	if (m->cause_epoch == m->epoch)
		return;
	cause_finish(&m->cause);
	m->cause_task = -1;
	m->cause_epoch = m->epoch;
}

void machine_set_job(struct machine *m, enum job_state state)
{
	if (m->state == state)
		return;
	if (state != JOB_REFORMING)
		forget_past_cause(m);
	tell_job(m, state);
	m->state = state;
	m->state_since = m->now;
}

void machine_due(struct machine *m, int64_t when)
{
	if (when < m->deadline)
		m->deadline = when;
}

static void set_tallied(bool *flag, bool value, size_t *tally)
{
	if (*flag == value)
		return;
	*flag = value;
	*tally = value ? *tally + 1 : *tally - 1;
}

void machine_set_rejoin(struct machine *m, size_t task, bool rejoin)
{
	if (!rejoin)
		m->tasks[task].ask_not_before = 0;
	set_tallied(&m->tasks[task].rejoin, rejoin, &m->types[m->tasks[task].type].rejoining);
}

void machine_set_up(struct machine *m, size_t task, bool up)
{
	if (!up)
		m->tasks[task].ui_port = 0;
	set_tallied(&m->tasks[task].process_up, up, &m->types[m->tasks[task].type].up);
	machine_watch(m, task); /* one that is up has less time */
}

void machine_set_unmet(struct machine *m, size_t task, bool unmet)
{
	set_tallied(&m->tasks[task].unmet, unmet, &m->types[m->tasks[task].type].unmet);
}

void machine_set_blames_peer(struct machine *m, size_t task, bool blames)
{
	m->tasks[task].blames_since = blames ? m->now : 0;
	set_tallied(&m->tasks[task].blames_peer, blames, &m->blaming);
}

void machine_gain_container(struct machine *m, size_t task)
{
	set_tallied(&m->tasks[task].has_container, true, &m->containers);
}

void machine_drop_container(struct machine *m, size_t task)
{
	set_tallied(&m->tasks[task].has_container, false, &m->containers);
}

enum job_role machine_role(const struct machine *m, size_t type)
{
	enum job_role role = m->job->types[type].role;
	return role == JOB_ROLE_TRACKED && m->types[type].exempt ? JOB_ROLE_UNTRACKED : role;
}

/* ---- events ------------------------------------------------------------------------------- */

static bool submit(struct machine *m)
{
	if (m->state != JOB_SUBMITTED)
		return false;
	m->submitted_at = m->now;
	m->epoch = 1;
	machine_set_job(m, JOB_FORMING);
	if (m->job->application_timeout_ms > 0)
		machine_due(m, m->now + m->job->application_timeout_ms);
	machine_activate_types(m);
	machine_check_end(m);
	return true;
}

static bool kill_job(struct machine *m, const struct machine_event *event)
{
	if (m->state >= JOB_FINISHING)
		return false;
	struct cause by_user = {.kind = CAUSE_KILLED_BY_USER, .text = "killed by the user"};
	const struct cause *cause = event->cause ? event->cause : &by_user;
	/* A kill overrides an earlier failure that was being lived with. */
	cause_finish(&m->cause);
	machine_blame(m, -1, cause);
	bool has_failed = cause->kind != CAUSE_KILLED_BY_USER && cause->kind != CAUSE_CANCELED;
	machine_finish(m, has_failed ? JOB_FAILED : JOB_KILLED);
	return true;
}

/* It is stale; but a container that nobody waits for any more must not leak. */
static bool refuse(struct machine *m, const struct machine_event *event)
{
	if (event->kind == EVENT_ALLOCATED && event->task < m->task_count)
		append_action(m, ACTION_RELEASE, event->task)->attempt = event->attempt;
	return false;
}

static bool task_event(struct machine *m, const struct machine_event *event)
{
	if (event->task >= m->task_count)
		return false;
	const struct task *task = &m->tasks[event->task];
	if (event->kind == EVENT_RESTART_TASK && m->state >= JOB_FINISHING)
		return false;
	if (event->kind != EVENT_RESTART_TASK && event->attempt != task->attempt)
		return refuse(m, event);
	if (machine_catch_up(m, event))
		return true;
	machine_handler *handler = task_table[task->state][event->kind];
	return handler && handler(m, event->task, event);
}

static bool handle(struct machine *m, const struct machine_event *event)
{
	if (job_state_is_final(m->state))
		return refuse(m, event);
	switch (event->kind) {
	case EVENT_SUBMIT:
		return submit(m);
	case EVENT_KILL:
		return kill_job(m, event);
	case EVENT_TICK:
		machine_tick(m);
		return true;
	case EVENT_SCALE:
		if (!machine_scale(m, event))
			return false;
		machine_check_groups(m);
		return true;
	default:
		if (m->state == JOB_SUBMITTED || !task_event(m, event))
			return false;
		machine_check_groups(m);
		return true;
	}
}

bool machine_handle(struct machine *m, const struct machine_event *event, int64_t now,
		    struct action_list *actions)
{
	m->out = actions;
	m->now = now;
	m->unrecorded = m->recorded = false;
	bool heard = handle(m, event);
	if (m->unrecorded && !m->recorded)
		tell_job(m, m->state);
	return heard;
}

/* ---- life and looks ----------------------------------------------------------------------- */

static void lay_out_types(struct machine *m)
{
	const struct job *job = m->job;
	size_t next = 0;
	for (size_t i = 0; i < job->type_count; i++) {
		struct type_tally *type = &m->types[i];
		type->first = next;
		type->count = (size_t)job_type_slots(&job->types[i]);
		type->wanted = (size_t)job->types[i].instances;
		type->in[TASK_WAITING] = type->count;
		for (size_t k = 0; k < type->count; k++, next++)
			m->tasks[next] = (struct task){.type = i, .index = (int)k};
		for (size_t k = 0; k < job->types[i].dependency_count; k++) {
			const struct job_dependency *dependency = &job->types[i].dependencies[k];
			if (!dependency->on_start)
				m->types[dependency->type].is_stage = true;
		}
	}
	m->in[TASK_WAITING] = next;
}

struct machine *machine_create(const struct job *job, uint64_t seed)
{
	struct machine *m = mem_alloc(sizeof(*m));
	m->job = job;
	m->random = seed | 1;
	m->deadline = INT64_MAX;
	m->look_at = INT64_MAX;
	m->cause_task = -1;
	m->task_count = job_task_count(job);
	m->tasks = mem_alloc_array(m->task_count, sizeof(*m->tasks));
	m->types = mem_alloc_array(job->type_count, sizeof(*m->types));
	lay_out_types(m);
	return m;
}

void machine_set_one_host(struct machine *machine)
{
	machine->one_host = true;
}

void machine_set_failures(struct machine *machine, struct policy_row *failures)
{
	policy_rows_free(machine->failures);
	machine->failures = failures;
}

void machine_set_waiting(struct machine *machine, const char *text)
{
	mem_replace(&machine->waiting, mem_strdup(text));
}

void machine_destroy(struct machine *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->task_count; i++) {
		free(m->tasks[i].container);
		free(m->tasks[i].host);
		free(m->tasks[i].blamed);
		cause_finish(&m->tasks[i].cause);
	}
	cause_finish(&m->cause);
	policy_rows_free(m->failures);
	free(m->waiting);
	free(m->tasks);
	free(m->types);
	free(m->pauses);
	free(m);
}

int64_t machine_deadline(const struct machine *m)
{
	return job_state_is_final(m->state) ? INT64_MAX : m->deadline;
}

struct order machine_order(const struct machine *m, size_t task)
{
	const struct task *t = &m->tasks[task];
	switch (t->state) {
	case TASK_ALLOCATED:
	case TASK_LAUNCHING:
	case TASK_REGISTERED:
		return (struct order){.kind = ORDER_WAIT, .epoch = m->epoch};
	case TASK_RUNNING:
		return (struct order){ORDER_RUN, t->epoch, t->restart, t->port_open};
	case TASK_STOPPING:
		return (struct order){.kind = ORDER_STOP, .epoch = m->epoch};
	default:
		return (struct order){.kind = ORDER_QUIT, .epoch = m->epoch};
	}
}

const struct task *machine_task(const struct machine *m, size_t task)
{
	return &m->tasks[task];
}

size_t machine_task_count(const struct machine *m)
{
	return m->task_count;
}

int64_t machine_find_task(const struct machine *m, const char *name)
{
	const char *colon = strrchr(name, ':');
	int64_t index = 0;
	if (!colon || str_parse_int(colon + 1, 0, JOB_MAX_TASKS, &index) < 0)
		return -1;
	char *type_name cleanup_free = mem_strndup(name, (size_t)(colon - name));
	int type = job_find_type(m->job, type_name);
	if (type < 0 || (size_t)index >= m->types[type].count)
		return -1;
	return (int64_t)machine_task_number(m, (size_t)type, (int)index);
}

size_t machine_task_number(const struct machine *m, size_t type, int index)
{
	return m->types[type].first + (size_t)index;
}

void machine_status(const struct machine *m, struct machine_status *status)
{
	*status = (struct machine_status){
		.state = m->state,
		.outcome = m->outcome,
		.epoch = m->epoch,
		.retries_used = m->retries_used,
		.infrastructure_retries_used = m->infrastructure_retries_used,
		.preemptions = m->preemptions,
		.streak = m->streak,
		.pause_ms = m->hold_until > m->now ? m->hold_until - m->now : 0,
		.state_since = m->state_since,
		.cause_task = m->cause_task,
		.cause_epoch = m->cause_epoch,
		.cause = &m->cause,
	};
	memcpy(status->tasks_in, m->in, sizeof(m->in));
}

bool machine_type_is_active(const struct machine *m, size_t type)
{
	return m->types[type].active;
}

int machine_wanted(const struct machine *m, size_t type)
{
	return (int)m->types[type].wanted;
}

bool machine_task_is_dormant(const struct machine *m, size_t task)
{
	const struct task *t = &m->tasks[task];
	return (size_t)t->index >= m->types[t->type].wanted && !t->has_container &&
	       (t->state == TASK_WAITING || t->state == TASK_STOPPED);
}

bool machine_task_is_member(const struct machine *m, size_t task)
{
	const struct task *t = &m->tasks[task];
	return t->epoch == m->epoch && !t->rejoin && t->state != TASK_STOPPED;
}

bool machine_type_is_exempt(const struct machine *m, size_t type)
{
	return m->types[type].exempt;
}
