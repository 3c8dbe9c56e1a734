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

static void take_container(struct machine *m, size_t task)
{
	struct task *t = &m->tasks[task];
	machine_gain_container(m, task);
	if (t->cause.kind == CAUSE_CONTAINER_STOPPED)
		cause_finish(&t->cause); /* of the container before: see lose() */
	machine_await_others(m, task);
	machine_set_task(m, task, TASK_ALLOCATED);
}

bool task_allocated(struct machine *m, size_t task, const struct machine_event *event)
{
	struct task *t = &m->tasks[task];
	mem_replace(&t->container, mem_strdup(event->container));
	mem_replace(&t->host, mem_strdup(event->host));
	take_container(m, task);
	machine_act(m, ACTION_LAUNCH, task);
	machine_set_task(m, task, TASK_LAUNCHING);
	if (m->job->registration_timeout_ms > 0)
		machine_due(m, m->now + m->job->registration_timeout_ms);
	return true;
}

/* Its executor registered before the scheduler told of the container. */
bool task_container_known(struct machine *m, size_t task, const struct machine_event *event)
{
	struct task *t = &m->tasks[task];
	if (t->container || !t->has_container)
		return false;
	t->container = mem_strdup(event->container);
	machine_tell(m, task);
	return true;
}

/* Allocated after we stopped wanting it. */
bool task_surplus(struct machine *m, size_t task, const struct machine_event *event)
{
	if (m->tasks[task].has_container) /* it has been given back already */
		return task_container_known(m, task, event);
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
	t->door = event->door;
	t->heard_at = m->now;
	machine_due(m, m->now + job_heartbeat_timeout_ms(m->job));
}

bool task_registered(struct machine *m, size_t task, const struct machine_event *event)
{
	take_address(m, task, event);
	if (m->tasks[task].state == TASK_LAUNCHING)
		machine_await_others(m, task);
	machine_set_task(m, task, TASK_REGISTERED);
	if (m->job->mode == JOB_MODE_FCFS)
		machine_start_alone(m, task);
	else
		machine_open_barrier(m);
	return true;
}

/* A scheduler that starts executors by itself may tell later where it has done so. */
bool task_registered_first(struct machine *m, size_t task, const struct machine_event *event)
{
	take_container(m, task);
	machine_set_task(m, task, TASK_LAUNCHING);
	return task_registered(m, task, event);
}

/* The answer to its registration was lost, so it registers once more; or another AM took that. */
bool task_registered_again(struct machine *m, size_t task, const struct machine_event *event)
{
	if (m->tasks[task].unmet) {
		machine_set_unmet(m, task, false);
		take_address(m, task, event);
		machine_tell(m, task);
		machine_open_barrier(m);
	}
	return task_accept(m, task, event);
}

/* The stop order was obeyed, unless the `epoch` is an earlier one: the process may still run. */
bool task_reregistered(struct machine *m, size_t task, const struct machine_event *event)
{
	if (event->epoch < m->epoch)
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
	if (t->process_up || t->blames_peer)
		return true;
	machine_set_up(m, task, true);
	machine_tell(m, task);
	machine_activate_types(m);
	return true;
}

static void succeed(struct machine *m, size_t task)
{
	machine_set_task(m, task, TASK_SUCCEEDED);
	machine_act(m, ACTION_RELEASE, task);
	if (m->job->stop_after_chief && machine_is_chief(m, task)) {
		machine_finish(m, JOB_SUCCEEDED);
		return;
	}
	machine_settle_size(m);
	machine_activate_types(m);
	machine_open_barrier(m);
	machine_check_end(m);
}

/* A process that failed is started again in its container, on its port. */
static bool restart_in_place(struct machine *m, size_t task, const struct policy *policy)
{
	struct task *t = &m->tasks[task];
	const struct job_type *type = &m->job->types[t->type];
	if (t->restarts_used >= type->max_restarts || !policy->in_place)
		return false;
	int64_t delay = machine_backoff(m, t->restarts_used);
	t->restarts_used++;
	char *cause cleanup_free = cause_sentence(&t->cause);
	machine_note(m, task, "%s:%d %s; restart %d of %d in place%s", type->name, t->index, cause,
		     t->restarts_used, type->max_restarts, delay > 0 ? " after a pause" : "");
	machine_set_task(m, task, TASK_REGISTERED);
	machine_await_restart(m, task, m->now + delay);
	machine_open_barrier(m);
	return true;
}

/* A failure that is none, as the user has it. */
static void pass_over(struct machine *m, size_t task, const struct cause *cause)
{
	struct task *t = &m->tasks[task];
	const char *type = m->job->types[t->type].name;
	machine_note(m, task, "%s:%d %s, which counts as success (tony.%s.on-exit)", type, t->index,
		     cause->text ? cause->text : cause_kind_name(cause->kind), type);
	cause_finish(&t->cause);
	succeed(m, task);
}

/* The container's end follows: the scheduler knows why. */
static void expect_end(struct machine *m, size_t task, const struct cause *cause)
{
	cause_copy(&m->tasks[task].cause, cause);
	machine_tell(m, task);
}

void machine_process_failed(struct machine *m, size_t task, const struct policy *policy)
{
	if (restart_in_place(m, task, policy))
		return;
	machine_set_task(m, task, TASK_FAILED);
	machine_task_failed(m, task);
}

bool task_exited(struct machine *m, size_t task, const struct machine_event *event)
{
	struct task *t = &m->tasks[task];
	if (!is_present_process(m, task, event))
		return is_past_process(m, task, event) && task_accept(m, task, event);
	t->heard_at = m->now;
	if (t->blames_peer) /* it has said so before */
		return true;
	if (!event->cause || event->cause->kind == CAUSE_NONE) {
		cause_finish(&t->cause);
		succeed(m, task);
		return true;
	}
	if (event->cause->kind == CAUSE_CONTAINER_STOPPED) {
		expect_end(m, task, event->cause);
		return true;
	}
	t->is_stuck = machine_is_stuck(m, task, event->cause);
	cause_copy(&t->cause, event->cause);
	const struct policy policy = machine_judge(m, task);
	if (policy.ignore) {
		pass_over(m, task, event->cause);
		return true;
	}
	if (!machine_asks_for_peers(m, task, &policy))
		machine_process_failed(m, task, &policy);
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
	machine_set_blames_peer(m, task, false);
	t->restart++;
	machine_tell(m, task);
	machine_act(m, ACTION_ORDER, task);
	machine_note(m, task, "%s:%d is restarted by %s", m->job->types[t->type].name, t->index,
		     event->cause ? event->cause->text : "the user");
	return true;
}

/* ---- the container is gone ---------------------------------------------------------------- */

/* Why, from who knows it, and the last lines, from who saw them. */
static void explain(struct cause *cause, const struct cause *why)
{
	struct cause both = {0};
	cause_copy(&both, why);
	if (both.tail.count == 0) {
		both.tail = cause->tail;
		cause->tail = (struct str_list){0};
	}
	cause_finish(cause);
	*cause = both;
}

static void lose(struct machine *m, size_t task, const struct machine_event *event,
		 enum cause_kind otherwise, const char *text)
{
	struct task *t = &m->tasks[task];
	struct cause guess = {.kind = otherwise, .text = text};
	bool known = event->cause && event->cause->kind != CAUSE_NONE;
	t->is_stuck = known && machine_is_stuck(m, task, event->cause);
	/* What the executor said of its end stands unless the scheduler knows more. */
	if (t->cause.kind != CAUSE_CONTAINER_STOPPED || t->state != TASK_RUNNING)
		cause_copy(&t->cause, known ? event->cause : &guess);
	else if (known && event->cause->kind != CAUSE_EXECUTOR_LOST)
		explain(&t->cause, event->cause);
	machine_drop_container(m, task);
	machine_set_task(m, task, TASK_LOST);
}

/* That an AM died before it launched what it had been given is nobody's fault. */
bool task_gone_launching(struct machine *m, size_t task, const struct machine_event *event)
{
	bool unsure = m->tasks[task].unsure;
	lose(m, task, event, CAUSE_LAUNCH_FAILED, "its container ended before it registered");
	if (unsure)
		machine_replace(m, task);
	else
		machine_task_failed(m, task);
	return true;
}

bool task_gone(struct machine *m, size_t task, const struct machine_event *event)
{
	lose(m, task, event, CAUSE_EXECUTOR_LOST, "its executor is gone");
	machine_task_failed(m, task);
	return true;
}

/* While the job re-forms, one more loss belongs to the same incident. */
bool task_gone_stopping(struct machine *m, size_t task, const struct machine_event *event)
{
	lose(m, task, event, CAUSE_EXECUTOR_LOST, "its executor is gone");
	machine_replace_survivor(m, task);
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
	machine_set_task(m, task, TASK_LOST);
	machine_act(m, ACTION_RELEASE, task);
	if (stopping)
		machine_replace_survivor(m, task);
	else
		machine_task_failed(m, task);
}

/* It will be killed soon: better that its process ends in good order now. */
bool task_preempted(struct machine *m, size_t task, const struct machine_event *event)
{
	const struct cause preempted = {.kind = CAUSE_PREEMPTED,
					.text = "the scheduler wants its container back"};
	machine_give_up(m, task, event->cause ? event->cause : &preempted);
	return true;
}

/* ---- executors that know more than the journal ---------------------------------------------- */

/* A job goes on while no store takes its journal. When its AM dies then, the next one does not know
 * what that one ordered last: executors tell it. */

static bool is_of_process(const struct machine_event *event)
{
	return event->kind == EVENT_STARTED || event->kind == EVENT_EXITED;
}

static bool is_of_executor(const struct machine_event *event)
{
	return is_of_process(event) || event->kind == EVENT_REGISTERED || event->kind == EVENT_BEAT;
}

/* Of its process; 0: of none that it tells of. */
static int process_epoch(const struct machine_event *event)
{
	return event->kind == EVENT_REGISTERED ? event->process_epoch
	       : is_of_process(event)	       ? event->epoch
					       : 0;
}

/* Its process has a cluster spec that is lost: the job forms anew, in an epoch that no executor has
 * seen. A sidecar's process concerns it alone. */
static void leave_later_epoch(struct machine *m, const struct machine_event *event)
{
	struct task *t = &m->tasks[event->task];
	t->heard_at = m->now;
	if (event->kind == EVENT_REGISTERED)
		take_address(m, event->task, event);
	if (t->state != TASK_STOPPING)
		machine_stop_to_rejoin(m, event->task);
	else if (event->kind == EVENT_REGISTERED)
		machine_tell(m, event->task); /* its address */
	bool is_sidecar = machine_role(m, t->type) == JOB_ROLE_SIDECAR;
	if (event->epoch < m->epoch || (is_sidecar && event->epoch == m->epoch))
		return;
	machine_note(m, event->task,
		     "%s:%d is in epoch %d, and no store has taken how that began: "
		     "the cluster forms anew",
		     m->job->types[t->type].name, t->index, event->epoch);
	m->epoch = event->epoch;
	m->unrecorded = true;
	machine_form_anew(m);
}

static bool has_later_restart(const struct task *t, const struct machine_event *event)
{
	return event->kind != EVENT_REGISTERED && event->epoch == t->epoch &&
	       event->restart > t->restart &&
	       (t->state == TASK_RUNNING || (t->state == TASK_REGISTERED && t->restarting));
}

/* In its place, by the same cluster spec. */
static void take_later_restart(struct machine *m, const struct machine_event *event)
{
	struct task *t = &m->tasks[event->task];
	if (t->state == TASK_REGISTERED) {
		machine_run(m, event->task, event->restart);
		return;
	}
	machine_set_up(m, event->task, false);
	machine_set_blames_peer(m, event->task, false);
	t->restart = event->restart;
	machine_tell(m, event->task);
	machine_act(m, ACTION_ORDER, event->task);
}

bool machine_catch_up(struct machine *m, const struct machine_event *event)
{
	struct task *t = &m->tasks[event->task];
	if (!m->is_restored || m->state >= JOB_FINISHING || !is_of_executor(event) ||
	    t->state < TASK_LAUNCHING || t->state > TASK_STOPPING)
		return false;
	if (process_epoch(event) > t->epoch || event->epoch > m->epoch) {
		leave_later_epoch(m, event);
		return true;
	}
	if (has_later_restart(t, event))
		take_later_restart(m, event);
	return false;
}
