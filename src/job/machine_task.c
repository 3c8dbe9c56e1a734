#include "job/machine_internal.h"

#include <stdlib.h>

#include "base/mem.h"

/* True news that changes nothing. */
bool task_accept(struct machine *m, size_t task, const struct machine_event *event)
{
	m->tasks[task].heard_at = m->now;
	return true;
}

/* ---- coming up ---------------------------------------------------------------------------- */

bool task_allocated(struct machine *m, size_t task, const struct machine_event *event)
{
	struct task *t = &m->tasks[task];
	machine_gain_container(m, task);
	mem_replace(&t->container, mem_strdup(event->container));
	mem_replace(&t->host, mem_strdup(event->host));
	machine_set_task(m, task, TASK_ALLOCATED);
	machine_act(m, ACTION_LAUNCH, task);
	machine_set_task(m, task, TASK_LAUNCHING);
	if (m->job->registration_timeout_ms > 0)
		machine_due(m, m->now + m->job->registration_timeout_ms);
	return true;
}

/* Allocated after we stopped wanting it. */
bool task_surplus(struct machine *m, size_t task, const struct machine_event *event)
{
	machine_gain_container(m, task);
	machine_act(m, ACTION_RELEASE, task);
	return true;
}

bool task_refused(struct machine *m, size_t task, const struct machine_event *event)
{
	struct task *t = &m->tasks[task];
	struct cause refused = {.kind = CAUSE_ALLOCATION_REFUSED};
	cause_copy(&t->cause, event->cause ? event->cause : &refused);
	machine_set_task(m, task, TASK_LOST);
	machine_task_failed(m, task);
	return true;
}

static void take_address(struct machine *m, size_t task, const struct machine_event *event)
{
	struct task *t = &m->tasks[task];
	if (event->host)
		mem_replace(&t->host, mem_strdup(event->host));
	t->port = event->port;
	t->heard_at = m->now;
	machine_due(m, m->now + machine_beat_limit(m));
}

bool task_registered(struct machine *m, size_t task, const struct machine_event *event)
{
	take_address(m, task, event);
	machine_set_task(m, task, TASK_REGISTERED);
	if (m->job->mode == JOB_MODE_FCFS)
		machine_start_alone(m, task);
	else
		machine_open_barrier(m);
	return true;
}

/* The answer to its registration was lost, so it registers once more. */
bool task_registered_again(struct machine *m, size_t task, const struct machine_event *event)
{
	return task_accept(m, task, event);
}

/* The stop order was obeyed. An `epoch` not above that of the last start is an old registration
 * arriving again: the process may still run. */
bool task_reregistered(struct machine *m, size_t task, const struct machine_event *event)
{
	if (event->epoch <= m->tasks[task].epoch)
		return task_accept(m, task, event);
	return task_registered(m, task, event);
}

/* ---- running ------------------------------------------------------------------------------ */

static bool is_present_process(const struct machine *m, size_t task,
			       const struct machine_event *event)
{
	const struct task *t = &m->tasks[task];
	return event->epoch == t->epoch && event->restart == t->restart;
}

/* An earlier process of the same container. */
static bool is_past_process(const struct machine *m, size_t task, const struct machine_event *event)
{
	const struct task *t = &m->tasks[task];
	return event->epoch < t->epoch || (event->epoch == t->epoch && event->restart < t->restart);
}

bool task_beat(struct machine *m, size_t task, const struct machine_event *event)
{
	struct task *t = &m->tasks[task];
	if (t->process_up && is_present_process(m, task, event) && t->ui_port != event->ui_port) {
		t->ui_port = event->ui_port;
		machine_tell(m, task);
	}
	return task_accept(m, task, event);
}

bool task_started(struct machine *m, size_t task, const struct machine_event *event)
{
	struct task *t = &m->tasks[task];
	if (!is_present_process(m, task, event))
		return is_past_process(m, task, event) && task_accept(m, task, event);
	t->heard_at = m->now;
	if (t->process_up)
		return true;
	t->started_at = m->now;
	t->ended_at = 0;
	machine_set_up(m, task, true);
	machine_tell(m, task);
	machine_activate_types(m);
	return true;
}

static void succeed(struct machine *m, size_t task)
{
	machine_set_task(m, task, TASK_SUCCEEDED);
	machine_act(m, ACTION_RELEASE, task);
	if (m->job->stop_after_chief &&
	    job_is_chief(m->job, m->tasks[task].type, m->tasks[task].index)) {
		machine_finish(m, JOB_SUCCEEDED);
		return;
	}
	machine_activate_types(m);
	machine_open_barrier(m);
	machine_check_end(m);
}

/* A process that failed is started again in its container, on its port. */
static bool restart_in_place(struct machine *m, size_t task)
{
	struct task *t = &m->tasks[task];
	const struct job_type *type = &m->job->types[t->type];
	if (t->restarts_used >= type->max_restarts || !policy_find(t->cause.kind)->in_place)
		return false;
	int64_t delay = machine_backoff(m, t->restarts_used);
	t->restarts_used++;
	machine_note(m, task, "%s:%d %s; restart %d of %d in place%s", type->name, t->index,
		     t->cause.text ? t->cause.text : "failed", t->restarts_used, type->max_restarts,
		     delay > 0 ? " after a pause" : "");
	machine_set_task(m, task, TASK_REGISTERED);
	machine_set_restarting(m, task, true);
	t->start_not_before = m->now + delay;
	machine_due(m, t->start_not_before);
	machine_open_barrier(m);
	return true;
}

bool task_exited(struct machine *m, size_t task, const struct machine_event *event)
{
	struct task *t = &m->tasks[task];
	if (!is_present_process(m, task, event))
		return is_past_process(m, task, event) && task_accept(m, task, event);
	t->heard_at = m->now;
	t->ended_at = m->now;
	if (t->started_at == 0)
		t->started_at = m->now;
	m->types[t->type].last_end = m->now;
	if (!event->cause || event->cause->kind == CAUSE_NONE) {
		cause_finish(&t->cause);
		succeed(m, task);
		return true;
	}
	cause_copy(&t->cause, event->cause);
	if (restart_in_place(m, task))
		return true;
	machine_set_task(m, task, TASK_FAILED);
	machine_task_failed(m, task);
	return true;
}

/* The same report once more, or one of an earlier process. */
bool task_exited_again(struct machine *m, size_t task, const struct machine_event *event)
{
	bool known = is_present_process(m, task, event) || is_past_process(m, task, event);
	return known && task_accept(m, task, event);
}

bool task_restart(struct machine *m, size_t task, const struct machine_event *event)
{
	struct task *t = &m->tasks[task];
	machine_set_up(m, task, false);
	t->restart++;
	machine_tell(m, task);
	machine_act(m, ACTION_ORDER, task);
	machine_note(m, task, "%s:%d is restarted by the user", m->job->types[t->type].name,
		     t->index);
	return true;
}

/* ---- the container is gone ---------------------------------------------------------------- */

static void lose(struct machine *m, size_t task, const struct machine_event *event,
		 enum cause_kind otherwise, const char *text)
{
	struct task *t = &m->tasks[task];
	struct cause guess = {.kind = otherwise, .text = (char *)text};
	bool known = event->cause && event->cause->kind != CAUSE_NONE;
	cause_copy(&t->cause, known ? event->cause : &guess);
	machine_drop_container(m, task);
	m->types[t->type].last_end = m->now;
	machine_set_task(m, task, TASK_LOST);
}

bool task_gone_launching(struct machine *m, size_t task, const struct machine_event *event)
{
	lose(m, task, event, CAUSE_LAUNCH_FAILED, "its container ended before it registered");
	machine_task_failed(m, task);
	return true;
}

bool task_gone_unstarted(struct machine *m, size_t task, const struct machine_event *event)
{
	lose(m, task, event, CAUSE_EXECUTOR_LOST, "its executor is gone");
	machine_task_failed(m, task);
	return true;
}

bool task_gone_running(struct machine *m, size_t task, const struct machine_event *event)
{
	m->tasks[task].ended_at = m->now;
	return task_gone_unstarted(m, task, event);
}

/* While the job re-forms, one more loss belongs to the same incident. */
bool task_gone_stopping(struct machine *m, size_t task, const struct machine_event *event)
{
	lose(m, task, event, CAUSE_EXECUTOR_LOST, "its executor is gone");
	machine_replace(m, task);
	return true;
}

bool task_gone_after_end(struct machine *m, size_t task, const struct machine_event *event)
{
	machine_drop_container(m, task);
	machine_ask_again(m, task);
	machine_check_end(m);
	return true;
}

/* ---- the container is no longer of use ---------------------------------------------------- */

void machine_give_up(struct machine *m, size_t task, const struct cause *cause)
{
	struct task *t = &m->tasks[task];
	bool stopping = t->state == TASK_STOPPING;
	cause_copy(&t->cause, cause);
	if (t->started_at != 0 && t->ended_at == 0)
		t->ended_at = m->now;
	m->types[t->type].last_end = m->now;
	machine_set_task(m, task, TASK_LOST);
	machine_act(m, ACTION_RELEASE, task);
	if (stopping)
		machine_replace(m, task);
	else
		machine_task_failed(m, task);
}

/* It will be killed soon: better that its process ends in good order now. */
bool task_preempted(struct machine *m, size_t task, const struct machine_event *event)
{
	const struct cause preempted = {.kind = CAUSE_PREEMPTED,
					.text = (char *)"the scheduler wants its container back"};
	machine_give_up(m, task, event->cause ? event->cause : &preempted);
	return true;
}
