#include <stdlib.h>
#include <string.h>

#include "am/api_internal.h"
#include "am/command.h"
#include "base/json.h"
#include "base/mem.h"
#include "scheduler/scheduler.h"

static void answer_job(struct api *api, struct http_request *request)
{
	json_t *answer = job_view_to_json(api->view.job);

	json_object_set_new(answer, "links", api_ui_links(api));
	http_answer_json(request, 200, answer);
}

void api_handle_job(void *data, struct http_request *request)
{
	api_view_look(data, request, answer_job);
}

/* Does the last report name processes of the present attempt, epoch and restart? */
static bool is_present(const struct api_task *task, const struct job_view *view, size_t number)
{
	const struct task_view *row = &view->tasks[number];

	return task->pid_count > 0 && task->activity == ACTIVITY_RUNNING &&
	       task->of.attempt == row->attempt && task->of.epoch == row->epoch &&
	       task->of.restart == row->restart;
}

static json_t *pids_to_json(const struct api_task *task)
{
	json_t *pids = json_array();

	for (size_t i = 0; i < task->pid_count; i++)
		json_array_append_new(pids, json_integer(task->pids[i]));
	return pids;
}

static json_t *task_to_json(const struct api *api, size_t number)
{
	const struct job_view *view = api->view.job;
	const struct api_task *task = &api->tasks[number];
	json_t *object = task_view_to_json(view, number);

	if (is_present(task, view, number))
		json_object_set_new(object, "pids", pids_to_json(task));
	if (task->executor_pid > 0 && task->executor_attempt == view->tasks[number].attempt)
		json_set_int(object, "executor_pid", task->executor_pid);
	if (task->usage)
		json_object_set_new(object, "metrics", usage_to_json(task->usage));
	json_t *use = api_use_to_json(api, number);
	if (use)
		json_object_set_new(object, "use", use);
	json_t *straggler = api_straggler_to_json(api, number);
	if (straggler)
		json_object_set_new(object, "straggler", straggler);
	return object;
}

static void append_task(const struct api *api, const struct api_rows *rows, size_t number,
			struct str *text)
{
	json_t *task cleanup_json = task_to_json(api, number);
	char *row cleanup_free = json_text(task);

	str_append(text, row);
}

static void answer_tasks(struct api *api, struct http_request *request)
{
	struct api_rows rows = {.append = append_task, .separator = ",", .rear = "]}"};

	if (api_rows_page(api, request, &rows) < 0)
		return;
	api_find_stragglers(api);
	char *front cleanup_free = mem_printf("{\"total\":%zu,\"tasks\":[", api->task_count);
	api_rows_answer(api, request, front, &rows);
}

void api_handle_tasks(void *data, struct http_request *request)
{
	api_view_look(data, request, answer_tasks);
}

static void answer_task(struct api *api, struct http_request *request)
{
	const struct api_task *task = api_find_task(api, request);

	if (!task)
		return;
	api_find_stragglers(api);
	http_answer_json(request, 200, task_to_json(api, task->number));
}

void api_handle_task(void *data, struct http_request *request)
{
	api_view_look(data, request, answer_task);
}

static void answer_attempts(struct api *api, struct http_request *request)
{
	const struct api_task *task = api_find_task(api, request);

	if (task)
		http_answer_json(request, 200,
				 task_view_attempts_to_json(&api->view.job->tasks[task->number]));
}

void api_handle_attempts(void *data, struct http_request *request)
{
	api_view_look(data, request, answer_attempts);
}

void api_handle_kill(void *data, struct http_request *request)
{
	struct api *api = data;
	struct err err cleanup_err = {0};
	char *by cleanup_free = NULL, *reason cleanup_free = NULL;
	size_t length;

	const char *body = http_request_body(request, &length);
	if (command_parse_kill(&by, &reason, body, length, &err) < 0) {
		api_answer_bad(request, &err);
		return;
	}
	const char *user = api_orderer(request);
	char *text cleanup_free = mem_printf("killed by %s%s%s",
					     user ? user
					     : by ? by
						  : "the user",
					     reason ? ": " : "", reason ? reason : "");
	struct cause cause = {.kind = CAUSE_KILLED_BY_USER, .text = text};
	bool ends = api->host.deliver(api->host.data,
				      &(struct machine_event){.kind = EVENT_KILL, .cause = &cause});
	api_audit(api, request, "kill", ends ? "done" : "conflict", reason);
	if (ends)
		api_answer_when_kept(api, request, json_object());
	else
		http_answer_error(request, 409, "conflict", "the job is ending already");
}

void api_handle_restart(void *data, struct http_request *request)
{
	struct api *api = data;
	const struct api_task *task = api_find_task(api, request);

	if (!task)
		return;
	const struct cause by = {.text = api_orderer(request)};
	bool restarts = api->host.deliver(api->host.data,
					  &(struct machine_event){.kind = EVENT_RESTART_TASK,
								  .task = task->number,
								  .cause = by.text ? &by : NULL});
	api_audit(api, request, "restart", restarts ? "done" : "conflict",
		  http_request_parameter(request, "task"));
	if (restarts)
		api_answer_when_kept(api, request, json_object());
	else
		http_answer_error(
			request, 409, "conflict", "%s is %s: only a running task is restarted",
			http_request_parameter(request, "task"),
			task_state_name(machine_task(api->host.machine, task->number)->state));
}

/* A job that a task has submitted begins. */
void api_handle_children(void *data, struct http_request *request)
{
	struct api *api = data;
	struct err err cleanup_err = {0};
	char *id cleanup_free = NULL, *agent cleanup_free = NULL;
	int64_t mask = 0;
	json_t *answer;
	pid_t pid = -1;
	size_t length;

	const char *body = http_request_body(request, &length);
	json_t *object cleanup_json = json_parse(body, length, &err);
	if (!object || json_need_text(object, "job", &id, &err) < 0 ||
	    json_need_text(object, "agent", &agent, &err) < 0 ||
	    json_need_int(object, "umask", 0, 0777, &mask, &err) < 0) {
		api_answer_bad(request, &err);
		return;
	}
	const struct scheduler_child child = {id, agent, (mode_t)mask};
	pid = api->host.start_child(api->host.data, &child, &err);
	api_audit(api, request, "child", pid > 0 ? "done" : "conflict", id);
	if (pid < 0 && err.kind == ERR_INPUT) {
		api_answer_bad(request, &err);
		return;
	}
	if (pid < 0) {
		http_answer_error(request, 409, "conflict", "%s", err_message(&err));
		return;
	}
	answer = json_object();
	json_set_int(answer, "pid", pid);
	http_answer_json(request, 200, answer);
}

void api_handle_release(void *data, struct http_request *request)
{
	struct api *api = data;
	bool begins = api->host.release(api->host.data);

	api_audit(api, request, "release", begins ? "done" : "conflict", NULL);
	if (begins)
		api_answer_when_kept(api, request, json_object());
	else
		http_answer_error(request, 409, "conflict", "the job is not held");
}
