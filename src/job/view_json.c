#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "job/cause_json.h"
#include "job/job_fields.h"
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

static void set_elastic(json_t *object, const struct job_type *type, int wanted)
{
	if (!job_type_is_elastic(type))
		return;
	json_set_int(object, "min_instances", type->min_instances);
	json_set_int(object, "max_instances", type->max_instances);
	json_set_int(object, "wanted", wanted);
}

static json_t *types_to_json(const struct job_view *view)
{
	const struct job *job = view->job;
	json_t *list = json_array();

	for (size_t i = 0; i < job->type_count; i++) {
		const struct job_type *type = &job->types[i];
		json_t *object = json_object();
		json_set_text(object, "name", type->name);
		json_set_int(object, "instances", type->instances);
		set_elastic(object, type, view->types[i].wanted);
		json_set_text(object, "role", job_roles[type->role]);
		json_set_int(object, "processes", type->processes);
		json_set_int(object, "memory_mib", type->memory);
		json_set_int(object, "vcores", type->vcores);
		json_set_int(object, "gpus", type->gpus);
		json_set_text(object, "command", type->command);
		json_array_append_new(list, object);
	}
	return list;
}

/* The first cause, and whose it is. */
static void set_cause(json_t *object, const struct job_view *view)
{
	cause_set_member(object, &view->cause);
	if (view->cause.kind == CAUSE_NONE || view->cause_task < 0)
		return;
	set_task_name(object, "cause_task", view, (size_t)view->cause_task);
	set_task_name(json_object_get(object, "cause"), "task", view, (size_t)view->cause_task);
}

json_t *job_view_to_json(const struct job_view *view)
{
	const struct job *job = view->job;
	json_t *object = json_object();

	json_set_text(object, "id", job->id);
	json_set_text(object, "name", job->name);
	json_set_text(object, "user", job->user);
	json_set_text(object, "framework", job->framework);
	json_set_text(object, "scheduler", job->scheduler ? job->scheduler : "local");
	json_set_text(object, "queue", job->queue);
	json_set_list(object, "tags", &job->tags);
	if (job->uses.count > 0)
		json_set_list(object, "uses", &job->uses);
	json_set_text(object, "sweep", job->sweep);
	if (job->sweep && !job_is_sweep(job))
		json_set_int(object, "trial", job->trial);
	json_set_text(object, "parent", job->parent);
	json_set_text(object, "state", job_state_name(view->state));
	if (view->state >= JOB_FINISHING)
		json_set_text(object, "outcome", job_state_name(view->outcome));
	json_set_int(object, "epoch", view->epoch);
	json_set_int(object, "retries", view->retries);
	json_set_int(object, "infrastructure_retries", view->infrastructure_retries);
	json_set_int(object, "am_attempt", view->am_attempt);
	json_set_int(object, "task_count", job_view_wanted(view));
	json_object_set_new(object, "progress", progress(view));
	set_time(object, "state_since_ms", view->state_since_ms);
	set_time(object, "submitted_ms", job->submitted_ms);
	set_time(object, "running_ms", view->running_ms);
	set_time(object, "ended_ms", view->ended_ms);
	json_set_text(object, "waiting", view->waiting);
	json_set_text(object, "tracking_page", view->tracking_page);
	json_set_text(object, "store_trouble", view->store_trouble);
	if (view->store_trouble)
		json_set_int(object, "store_trouble_since_ms", view->store_trouble_since_ms);
	set_cause(object, view);
	json_set_text(object, "message", view->message);
	if (view->notices)
		json_object_set(object, "notices", view->notices);
	json_set_text(object, "history_trouble", view->history_trouble);
	if (job->provenance)
		json_object_set(object, "provenance", job->provenance);
	json_object_set_new(object, "types", types_to_json(view));
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

static void set_use(json_t *object, const struct program_use *use)
{
	if (use->ms > 0)
		json_object_set_new(object, "used", program_use_to_json(use));
}

static void set_lost(json_t *object, const struct lost_output *lost)
{
	if (!lost->text)
		return;
	json_t *member = json_object();
	json_set_int(member, "attempt", lost->attempt);
	json_set_int(member, "lines", lost->lines);
	json_set_int(member, "bytes", lost->bytes);
	json_set_text(member, "text", lost->text);
	json_object_set_new(object, "output_lost", member);
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
	if (row->dormant)
		json_set_bool(object, "dormant", true);
	json_set_int(object, "restarts_used", row->restarts_used);
	json_set_text(object, "host", row->host);
	json_set_int(object, "port", row->port);
	json_set_text(object, "ui_url", ui_url);
	json_set_text(object, "container", row->container);
	json_set_text(object, "log_dir", row->log_dir);
	set_time(object, "started_ms", row->started_ms);
	set_time(object, "ended_ms", row->ended_ms);
	set_use(object, &row->use);
	set_lost(object, &row->lost);
	json_set_text(object, "checkpoint_trouble", row->checkpoint_trouble);
	if (row->checkpoint_trouble)
		json_set_int(object, "checkpoint_trouble_since_ms",
			     row->checkpoint_trouble_since_ms);
	cause_set_member(object, &row->cause);
	return object;
}

static json_t *attempt_to_json(const struct attempt_view *attempt)
{
	json_t *object = json_object();

	json_set_int(object, "attempt", attempt->attempt);
	json_set_int(object, "epoch", attempt->epoch);
	json_set_int(object, "restart", attempt->restart);
	json_set_text(object, "container", attempt->container);
	json_set_text(object, "host", attempt->host);
	json_set_int(object, "port", attempt->port);
	json_set_text(object, "log_dir", attempt->log_dir);
	set_time(object, "allocated_ms", attempt->allocated_ms);
	set_time(object, "launched_ms", attempt->launched_ms);
	set_time(object, "registered_ms", attempt->registered_ms);
	set_time(object, "started_ms", attempt->started_ms);
	set_time(object, "ended_ms", attempt->ended_ms);
	set_use(object, &attempt->use);
	cause_set_member(object, &attempt->cause);
	return object;
}

json_t *task_view_attempts_to_json(const struct task_view *task)
{
	json_t *list = json_array();

	for (size_t i = 0; i < task->attempt_count; i++)
		json_array_append_new(list, attempt_to_json(&task->attempts[i]));
	return list;
}
