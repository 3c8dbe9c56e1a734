/* tony stacks: where the processes of a job's tasks stand. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "client/exit_code.h"
#include "client/opened.h"
#include "client/report.h"
#include "client/stacks_group.h"
#include "client/verbs.h"

enum { TIMEOUT_MS = 30 * 1000, TIMEOUT_MAX_MS = 3600 * 1000 };

struct stacks_options {
	char *timeout;
	bool json;
};

static const struct opt options[] = {
	OPT_ROW("timeout", struct stacks_options, timeout,
		"how long each task has to answer (10s, 2m; a bare number is seconds); 30 s is the "
		"default",
		.argument = "TIME"),
	OPT_ROW("json", struct stacks_options, json, "as JSON (docs/json.md)"),
};

/* The tasks that are asked, and their answers. */
struct crowd {
	struct stacks_answer *items;
	size_t count;
};

/* ---- telling ------------------------------------------------------------------------------ */

static void print_group(const json_t *group)
{
	struct str head cleanup_str = {0};
	size_t i;
	json_t *line;
	int64_t processes = json_integer_value(json_object_get(group, "processes"));

	stacks_append_tasks(json_object_get(group, "tasks"), &head);
	str_append_format(&head, ": %lld process%s %s: %s", (long long)processes,
			  processes == 1 ? "" : "es",
			  json_string_value(json_object_get(group, "name")),
			  json_string_value(json_object_get(group, "command")));
	putchar('\n');
	report_line(head.text);
	json_array_foreach(json_object_get(group, "lines"), i, line)
	{
		const char *text = json_string_value(line);
		char *clean cleanup_free = str_printable(text, strlen(text));
		printf("  %s\n", clean);
	}
}

/* "worker:3-5: it runs no program" of all tasks that have this problem, once. */
static void print_problem(const struct crowd *crowd, size_t first)
{
	const char *problem = crowd->items[first].problem;
	json_t *tasks cleanup_json = json_array();
	struct str line cleanup_str = {0};

	for (size_t i = 0; i < crowd->count; i++) {
		if (!str_equal(crowd->items[i].problem, problem))
			continue;
		if (i < first)
			return; /* told */
		json_array_append_new(tasks, json_string(crowd->items[i].task));
	}
	stacks_append_tasks(tasks, &line);
	str_append_format(&line, ": %s", problem);
	report_line(line.text);
}

static size_t count_answers(const struct crowd *crowd)
{
	size_t count = 0;

	for (size_t i = 0; i < crowd->count; i++)
		count += crowd->items[i].processes != NULL;
	return count;
}

static void print_all(const struct opened *opened, const struct crowd *crowd)
{
	json_t *groups cleanup_json = stacks_group(crowd->items, crowd->count);
	size_t i;
	json_t *group;

	printf("%s: %zu of %zu task%s answered\n", opened->id, count_answers(crowd), crowd->count,
	       str_plural(crowd->count));
	for (i = 0; i < crowd->count; i++)
		if (crowd->items[i].problem)
			print_problem(crowd, i);
	json_array_foreach(groups, i, group)
	{
		print_group(group);
	}
}

static void print_json(const struct opened *opened, const struct crowd *crowd)
{
	json_t *object = json_object(), *tasks = json_array();

	json_set_text(object, "id", opened->id);
	for (size_t i = 0; i < crowd->count; i++) {
		json_t *row = json_object();
		json_set_text(row, "task", crowd->items[i].task);
		json_set_text(row, "problem", crowd->items[i].problem);
		if (crowd->items[i].processes)
			json_object_set(row, "processes", crowd->items[i].processes);
		json_array_append_new(tasks, row);
	}
	json_object_set_new(object, "tasks", tasks);
	json_object_set_new(object, "groups", stacks_group(crowd->items, crowd->count));
	report_json(object);
}

/* ---- choosing ----------------------------------------------------------------------------- */

static bool is_chosen(const char *chosen, const char *type, const char *task)
{
	return !chosen || str_equal(chosen, type) || str_equal(chosen, task);
}

/* The task, its type, or all but those that nobody wants. */
static void find_tasks(const struct opened *opened, const char *chosen, struct crowd *crowd)
{
	const struct job_view *view = opened->view;

	crowd->items = mem_alloc_array(view->task_count, sizeof(*crowd->items));
	for (size_t i = 0; i < view->task_count; i++) {
		const struct task_view *task = &view->tasks[i];
		char *name cleanup_free = job_task_name(view->job, task->type, task->index);
		if (!task->dormant && is_chosen(chosen, view->job->types[task->type].name, name))
			crowd->items[crowd->count++].task = mem_steal(&name);
	}
}

static void finish(struct crowd *crowd)
{
	for (size_t i = 0; i < crowd->count; i++) {
		free(crowd->items[i].task);
		free(crowd->items[i].problem);
		json_decref(crowd->items[i].processes);
	}
	free(crowd->items);
}

/* JOB TASK; JOB; TASK of the newest job; or nothing. `task`: NULL for all. */
static int open_job(struct opened *opened, const struct verb_call *call, const char **task,
		    struct err *err)
{
	const struct str_list *operands = call->operands;
	bool is_alone = operands->count == 1 && opened_is_task(operands->items[0]);

	if (operands->count > 2)
		return err_set(err, ERR_USAGE, "too many arguments: \"%s\"; usage: %s",
			       operands->items[2], verb_stacks.options.usage);
	*task = operands->count == 2 ? operands->items[1] : is_alone ? operands->items[0] : NULL;
	if (opened_find(opened, operands->count > 0 && !is_alone ? operands->items[0] : NULL, err) <
		    0 ||
	    (*task && opened_check_task(opened, *task, err) < 0))
		return -1;
	return opened->view->is_final ? opened_say_ended(opened, err) : 0;
}

static int show(void *data, const struct verb_call *call, struct err *err)
{
	const struct stacks_options *chosen = data;
	struct opened opened cleanup_opened = {0};
	struct crowd crowd = {0};
	int64_t timeout_ms = TIMEOUT_MS;
	const char *task = NULL;

	if (chosen->timeout && (str_parse_duration(chosen->timeout, 1000, &timeout_ms) < 0 ||
				timeout_ms < 1 || timeout_ms > TIMEOUT_MAX_MS))
		return err_set(err, ERR_USAGE,
			       "--timeout: \"%s\" is no time up to an hour; write 30s or 2m",
			       chosen->timeout);
	if (open_job(&opened, call, &task, err) < 0)
		return -1;
	find_tasks(&opened, task, &crowd);
	int code = stacks_ask(&opened, crowd.items, crowd.count, timeout_ms, err);
	if (code == 0) {
		if (chosen->json)
			print_json(&opened, &crowd);
		else
			print_all(&opened, &crowd);
		code = count_answers(&crowd) < crowd.count ? EXIT_CODE_UNREACHABLE : EXIT_CODE_OK;
	}
	finish(&crowd);
	return code;
}

const struct verb verb_stacks = {
	.options =
		{
			.verb = "stacks",
			.usage = "tony stacks [OPTIONS] [JOB] [TASK]",
			.jobs = OPT_JOBS_LIVE,
			.summary = "show where the processes of a job's tasks stand",
			.options = options,
			.option_count = array_length(options),
		},
	.size = sizeof(struct stacks_options),
	.run = show,
};
