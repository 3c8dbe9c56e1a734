#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "client/exit_code.h"
#include "client/opened.h"
#include "client/report.h"
#include "client/verbs.h"

struct status_options {
	bool json;
};

static const struct opt options[] = {
	{.name = "json",
	 .kind = OPT_FLAG,
	 .offset = offsetof(struct status_options, json),
	 .help = "as JSON, with what the application master knows beyond the table"},
};

const struct opt_table verb_status_options = {
	.verb = "status",
	.usage = "tony status [OPTIONS] [JOB]",
	.summary = "show the state of a job and of its tasks",
	.options = options,
	.option_count = array_length(options),
};

/* The AM knows pids and metrics that the journal does not; without an AM the journal is all. */
static json_t *tasks_json(const struct opened *opened)
{
	struct err err cleanup_err = {0};
	json_t *answer cleanup_json = opened_ask(opened, "GET", "/v1/tasks", NULL, &err);
	json_t *tasks = json_object_get(answer, "tasks");
	if (tasks)
		return json_incref(tasks);
	tasks = json_array();
	for (size_t i = 0; i < opened->view->task_count; i++)
		json_array_append_new(tasks, task_view_to_json(opened->view, i));
	return tasks;
}

static void print_json(const struct opened *opened)
{
	json_t *object = job_view_to_json(opened->view);
	json_object_set_new(object, "tasks", tasks_json(opened));
	json_set_text(object, "job_dir", opened->door.job_dir);
	if (opened->door.address) {
		char *url cleanup_free = mem_printf("http://%s", opened->door.address);
		json_set_text(object, "am_url", url);
	}
	if (!opened->view->is_final)
		json_set_int(object, "am_pid", opened->view->am_pid);
	report_json(object);
}

static void add_task(struct report_table *table, const struct job_view *view, size_t number,
		     int64_t now)
{
	const struct task_view *task = &view->tasks[number];
	report_table_take(table,
			  mem_printf("%s:%d", view->job->types[task->type].name, task->index));
	report_table_add(table, task_state_name(task->state));
	report_table_take(table, mem_printf("%d", task->attempt));
	report_table_take(table, mem_printf("%d", task->epoch));
	report_table_take(table, task->port > 0 ? mem_printf("%s:%d", task->host, task->port)
						: mem_strdup(task->host));
	int64_t end = task->ended_ms > 0 ? task->ended_ms : now;
	report_table_take(table, task->started_ms > 0 ? str_format_duration(end - task->started_ms)
						      : NULL);
	report_table_add(table, task->cause.text);
}

static void print_table(const struct job_view *view)
{
	static const char *const headings[] = {"TASK",	  "STATE", "ATTEMPT",	  "EPOCH",
					       "ADDRESS", "RAN",   "LAST FAILURE"};
	struct report_table table = {0};
	report_table_begin(&table, headings, array_length(headings));
	int64_t now = clock_wall_ms();
	for (size_t i = 0; i < view->task_count; i++)
		add_task(&table, view, i, now);
	report_table_print(&table);
	report_table_finish(&table);
}

static void print_head(const struct opened *opened)
{
	const struct job_view *view = opened->view;
	char *since cleanup_free = str_format_duration(
		(view->ended_ms > 0 ? view->ended_ms : clock_wall_ms()) - view->job->submitted_ms);
	printf("%s  %s  %s  for %s", opened->id, view->job->name, job_state_name(view->state),
	       since);
	if (view->epoch > 1)
		printf("  epoch %d", view->epoch);
	putchar('\n');
	if (view->waiting)
		printf("waiting: %s\n", view->waiting);
	if (view->message)
		printf("%s\n", view->message);
	putchar('\n');
}

int verb_status(int argc, char **argv)
{
	struct err err cleanup_err = {0};
	struct status_options chosen = {0};
	struct str_list operands cleanup_str_list = {0};
	struct opened opened cleanup_opened = {0};
	const char *id;
	int code;
	if (!report_parse(&verb_status_options, argc, argv, &chosen, &operands, &code))
		return code;
	if (report_one_operand(&verb_status_options, &operands, &id, &err) < 0 ||
	    opened_find(&opened, id, &err) < 0)
		return report_error(&err);
	if (chosen.json) {
		print_json(&opened);
		return 0;
	}
	print_head(&opened);
	print_table(opened.view);
	return 0;
}
