#include <stdlib.h>
#include <string.h>

#include "am/api_internal.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"

enum { PAGE_MAX = 10000 };

/* Folds in what the journal says since the last look. */
static int catch_up(struct api *api, struct err *err)
{
	struct journal_line line;
	int got;

	if (!api->reader)
		api->reader = journal_reader_open(api->host.journal_path, 0, err);
	if (!api->reader)
		return -1;
	while ((got = journal_reader_next(api->reader, &line, err)) > 0) {
		if (job_view_add(api->view, &line, err) < 0)
			return -1;
	}
	return got;
}

const struct job_view *api_view(struct api *api, struct http_request *request)
{
	struct err err cleanup_err = {0};

	if (catch_up(api, &err) == 0)
		return api->view;
	log_error("the journal cannot be read: %s", err_message(&err));
	http_answer_error(request, 500, "failed", "the journal cannot be read: %s",
			  err_message(&err));
	return NULL;
}

void api_handle_job(void *data, struct http_request *request)
{
	const struct job_view *view = api_view(data, request);

	if (view)
		http_answer_json(request, 200, job_view_to_json(view));
}

/* Does the last report name processes of the present attempt, epoch and restart? */
static bool is_present(const struct api_task *task, const struct job_view *view, size_t number)
{
	const struct task_view *row = &view->tasks[number];

	return task->pids && task->state == MESSAGE_RUNNING && task->of.attempt == row->attempt &&
	       task->of.epoch == row->epoch && task->of.restart == row->restart;
}

static json_t *task_to_json(const struct api *api, const struct job_view *view, size_t number)
{
	const struct api_task *task = &api->tasks[number];
	json_t *object = task_view_to_json(view, number);

	if (is_present(task, view, number))
		json_object_set(object, "pids", task->pids);
	if (task->executor_pid > 0 && task->executor_attempt == view->tasks[number].attempt)
		json_set_int(object, "executor_pid", task->executor_pid);
	if (task->metrics)
		json_object_set_new(object, "metrics", api_metrics_to_json(task->metrics));
	return object;
}

void api_handle_tasks(void *data, struct http_request *request)
{
	struct api *api = data;
	int64_t offset = 0, limit = PAGE_MAX;

	if (http_request_query_int(request, "offset", 0, JOB_MAX_TASKS, &offset) < 0 ||
	    http_request_query_int(request, "limit", 1, PAGE_MAX, &limit) < 0)
		return;
	const struct job_view *view = api_view(api, request);
	if (!view)
		return;
	json_t *tasks = json_array();
	for (size_t i = (size_t)offset; i < api->task_count && i < (size_t)(offset + limit); i++)
		json_array_append_new(tasks, task_to_json(api, view, i));
	json_t *answer = json_object();
	json_set_int(answer, "total", (int64_t)api->task_count);
	json_object_set_new(answer, "tasks", tasks);
	http_answer_json(request, 200, answer);
}

void api_handle_task(void *data, struct http_request *request)
{
	struct api *api = data;
	const struct api_task *task = api_find_task(api, request);
	const struct job_view *view = task ? api_view(api, request) : NULL;

	if (view)
		http_answer_json(request, 200, task_to_json(api, view, task->number));
}

void api_handle_kill(void *data, struct http_request *request)
{
	struct api *api = data;
	struct err err cleanup_err = {0};
	char *reason cleanup_free = NULL;
	size_t length;

	const char *body = http_request_body(request, &length);
	if (message_parse_kill(&reason, body, length, &err) < 0) {
		api_answer_bad(request, &err);
		return;
	}
	char *text cleanup_free =
		mem_printf("killed by the user%s%s", reason ? ": " : "", reason ? reason : "");
	struct cause cause = {.kind = CAUSE_KILLED_BY_USER, .text = text};
	if (api->host.deliver(api->host.data,
			      &(struct machine_event){.kind = EVENT_KILL, .cause = &cause}))
		api_answer_empty(request);
	else
		http_answer_error(request, 409, "conflict", "the job is ending already");
}

void api_handle_restart(void *data, struct http_request *request)
{
	struct api *api = data;
	const struct api_task *task = api_find_task(api, request);

	if (!task)
		return;
	if (api->host.deliver(api->host.data, &(struct machine_event){.kind = EVENT_RESTART_TASK,
								      .task = task->number}))
		api_answer_empty(request);
	else
		http_answer_error(
			request, 409, "conflict", "%s is %s: only a running task is restarted",
			http_request_parameter(request, "task"),
			task_state_name(machine_task(api->host.machine, task->number)->state));
}
