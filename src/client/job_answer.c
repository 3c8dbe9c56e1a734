#include "client/job_answer.h"

#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/advice.h"
#include "client/exit_code.h"
#include "client/results.h"
#include "client/tokens_line.h"
#include "client/work.h"
#include "scheduler/state_dir.h"

/* Adds a page of the AM's answer; false: that was the last one, or there is no answer. */
static bool add_page(struct opened *opened, json_t *tasks)
{
	struct err err cleanup_err = {0};
	size_t before = json_array_size(tasks);
	char *path cleanup_free = mem_printf("/v1/tasks?offset=%zu", before);
	const bool was_silent = opened->is_silent;
	json_t *answer cleanup_json = opened_ask(opened, "GET", path, NULL, &err);

	opened->is_silent =
		err.kind == ERR_UNREACHABLE && opened->door.address && !opened->view->is_final;
	char *why cleanup_free =
		was_silent ? mem_strdup("") : mem_printf(" (%s)", err_message(&err));
	if (opened->is_silent)
		log_warning(
			"the application master of %s does not answer%s: its journal alone is told",
			opened->id, why);
	json_array_extend(tasks, json_object_get(answer, "tasks"));
	size_t count = json_array_size(tasks);
	return count > before && count < opened->view->task_count;
}

json_t *job_answer_tasks(struct opened *opened)
{
	json_t *tasks = json_array(), *task;
	size_t i;

	while (add_page(opened, tasks))
		continue;
	for (i = json_array_size(tasks); i < opened->view->task_count; i++)
		json_array_append_new(tasks, task_view_to_json(opened->view, i));
	json_array_foreach(tasks, i, task)
	{
		if (!json_object_get(task, "pids"))
			json_object_set_new(task, "pids", json_array());
	}
	return tasks;
}

/* As `tony status` says it in words. */
static void set_cleared(json_t *object, const struct opened *opened)
{
	if (state_dir_is_cleared(opened->door.job_dir, false))
		json_object_set_new(object, "cleared", json_true());
}

static void set_places(json_t *object, const struct opened *opened)
{
	char *page cleanup_free = job_portal_page(opened->view->job);
	char *output cleanup_free = results_place(opened);

	json_set_text(object, "job_dir", opened->door.job_dir);
	json_set_text(object, "work_dir", opened->view->job->work_dir);
	json_set_text(object, "output", output);
	json_set_text(object, "rerun_of", opened->view->job->rerun_of);
	json_set_text(object, "portal_url", page);
}

/* An AM that has ended the job is there for a moment at most. */
static void set_am(json_t *object, const struct opened *opened)
{
	if (opened->view->is_final)
		return;
	json_set_int(object, "am_pid", opened->view->am_pid);
	if (opened->door.address) {
		/* A script that takes it at its word shows nobody the token in clear. */
		char *url cleanup_free = mem_printf(
			opened->door.is_sealed ? "https://%s" : "http://%s", opened->door.address);
		json_set_text(object, "am_url", url);
	}
}

json_t *job_answer(struct opened *opened)
{
	json_t *object = job_view_to_json(opened->view), *tasks = job_answer_tasks(opened);
	json_t *work = work_ask(opened), *tokens = tokens_ask(opened);

	exit_code_set_member(object, opened->view->state);
	json_object_set_new(object, "tasks", tasks);
	if (work)
		json_object_set_new(object, "work", work);
	if (tokens)
		json_object_set_new(object, "tokens", tokens);
	if (job_is_sweep(opened->view->job))
		json_object_set_new(object, "trials", advice_sweep(opened));
	set_places(object, opened);
	set_am(object, opened);
	set_cleared(object, opened);
	return object;
}
