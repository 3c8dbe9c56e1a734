#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "job/cause_json.h"
#include "job/view.h"

static void set_task_name(json_t *object, const char *member, const struct job_view *view,
			  size_t task)
{
	const struct task_view *row = &view->tasks[task];
	char *name cleanup_free = job_task_name(view->job, row->type, row->index);

	json_set_text(object, member, name);
}

/* A time that has not come is left out. */
static void set_time(json_t *object, const char *member, int64_t time_ms)
{
	if (time_ms > 0)
		json_set_int(object, member, time_ms);
}

static json_t *progress(const struct job_view *view)
{
	json_t *object = json_object();

	for (int state = 0; state < TASK_STATE_COUNT; state++)
		if (view->tasks_in[state] > 0)
			json_set_int(object, task_state_name((enum task_state)state),
				     (int64_t)view->tasks_in[state]);
	return object;
}

json_t *job_view_to_json(const struct job_view *view)
{
	const struct job *job = view->job;
	json_t *object = json_object();

	json_set_text(object, "id", job->id);
	json_set_text(object, "name", job->name);
	json_set_text(object, "user", job->user);
	json_set_text(object, "framework", job->framework);
	json_set_text(object, "state", job_state_name(view->state));
	if (view->state >= JOB_FINISHING)
		json_set_text(object, "outcome", job_state_name(view->outcome));
	json_set_int(object, "epoch", view->epoch);
	json_set_int(object, "retries", view->retries);
	json_set_int(object, "infrastructure_retries", view->infrastructure_retries);
	json_set_int(object, "am_attempt", view->am_attempt);
	json_set_int(object, "tasks", (int64_t)view->task_count);
	json_object_set_new(object, "progress", progress(view));
	set_time(object, "submitted_ms", job->submitted_ms);
	set_time(object, "running_ms", view->running_ms);
	set_time(object, "ended_ms", view->ended_ms);
	json_set_text(object, "waiting", view->waiting);
	cause_set_member(object, &view->cause);
	if (view->cause.kind != CAUSE_NONE && view->cause_task >= 0)
		set_task_name(object, "cause_task", view, (size_t)view->cause_task);
	json_set_text(object, "message", view->message);
	json_set_int(object, "sequence", view->sequence);
	return object;
}

char *task_view_ui_url(const struct task_view *task)
{
	if (task->ui_port == 0 || !task->host)
		return NULL;
	if (strchr(task->host, ':'))
		return mem_printf("http://[%s]:%d", task->host, task->ui_port);
	return mem_printf("http://%s:%d", task->host, task->ui_port);
}

json_t *task_view_to_json(const struct job_view *view, size_t task)
{
	const struct task_view *row = &view->tasks[task];
	char *ui_url cleanup_free = task_view_ui_url(row);
	json_t *object = json_object();

	set_task_name(object, "task", view, task);
	json_set_text(object, "state", task_state_name(row->state));
	json_set_int(object, "attempt", row->attempt);
	json_set_int(object, "epoch", row->epoch);
	json_set_int(object, "restart", row->restart);
	json_set_int(object, "restarts_used", row->restarts_used);
	json_set_text(object, "host", row->host);
	json_set_int(object, "port", row->port);
	json_set_text(object, "ui_url", ui_url);
	json_set_text(object, "container", row->container);
	json_set_text(object, "log_dir", row->log_dir);
	set_time(object, "started_ms", row->started_ms);
	set_time(object, "ended_ms", row->ended_ms);
	cause_set_member(object, &row->cause);
	return object;
}
