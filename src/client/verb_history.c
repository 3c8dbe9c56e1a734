#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "client/opened.h"
#include "client/report.h"
#include "client/verbs.h"

struct history_options {
	bool json;
	char *state;
	int64_t last;
};

static const char *const states[] = {"succeeded", "failed", "killed", NULL};

static const struct opt options[] = {
	{.name = "last",
	 .letter = 'n',
	 .kind = OPT_NUMBER,
	 .offset = offsetof(struct history_options, last),
	 .argument = "N",
	 .help = "at most N jobs, the newest first (20)",
	 .min = 1,
	 .max = 1000000},
	{.name = "state",
	 .kind = OPT_TEXT,
	 .offset = offsetof(struct history_options, state),
	 .argument = "STATE",
	 .help = "only jobs that ended so",
	 .choices = states},
	{.name = "json",
	 .kind = OPT_FLAG,
	 .offset = offsetof(struct history_options, json),
	 .help = "as JSON, with the cause in full"},
};

const struct opt_table verb_history_options = {
	.verb = "history",
	.usage = "tony history [OPTIONS]",
	.summary = "list the jobs that have ended, and why",
	.options = options,
	.option_count = array_length(options),
};

static void add_row(struct report_table *table, const struct opened *opened)
{
	const struct job_view *view = opened->view;
	char *submitted cleanup_free = str_format_time(view->job->submitted_ms);
	submitted[19] = '\0'; /* to the second */
	report_table_add(table, opened->id);
	report_table_add(table, job_state_name(view->state));
	report_table_add(table, submitted);
	report_table_take(table, str_format_duration(view->ended_ms - view->job->submitted_ms));
	report_table_take(table, mem_printf("%zu", view->task_count));
	report_table_add(table, view->job->name);
	report_table_add(table, view->state == JOB_SUCCEEDED ? NULL : view->message);
}

/* Adds the job to the table or the list; false: it cannot be read, or is not chosen. */
static bool add_job(const struct history_options *chosen, const struct job_summary *job,
		    struct report_table *table, json_t *list)
{
	struct err err cleanup_err = {0};
	struct opened opened cleanup_opened = {0};
	if (!job_state_is_final(job->state) ||
	    (chosen->state && !str_equal(chosen->state, job_state_name(job->state))))
		return false;
	if (opened_find(&opened, job->id, &err) < 0) {
		report_error(&err);
		return false;
	}
	if (chosen->json)
		json_array_append_new(list, job_view_to_json(opened.view));
	else
		add_row(table, &opened);
	return true;
}

static int print_history(const struct history_options *chosen, const struct str_list *operands,
			 struct err *err)
{
	static const char *const headings[] = {"JOB",	"STATE", "SUBMITTED", "TOOK",
					       "TASKS", "NAME",	 "CAUSE"};
	struct report_table table = {0};
	struct job_summary *jobs;
	size_t count;
	if (operands->count > 0)
		return err_set(err, ERR_USAGE, "usage: %s", verb_history_options.usage);
	if (scheduler_client_find("local")->list(&jobs, &count, err) < 0)
		return -1;
	json_t *list = json_array();
	report_table_begin(&table, headings, array_length(headings));
	int64_t shown = 0;
	for (size_t i = 0; i < count && shown < chosen->last; i++)
		shown += add_job(chosen, &jobs[i], &table, list);
	job_summaries_free(jobs, count);
	if (chosen->json) {
		report_table_finish(&table);
		report_json(list);
		return 0;
	}
	json_decref(list);
	report_table_print(&table);
	report_table_finish(&table);
	return 0;
}

int verb_history(int argc, char **argv)
{
	struct err err cleanup_err = {0};
	struct history_options chosen = {.last = 20};
	struct str_list operands cleanup_str_list = {0};
	int code = 0;
	if (report_parse(&verb_history_options, argc, argv, &chosen, &operands, &code) &&
	    print_history(&chosen, &operands, &err) < 0)
		code = report_error(&err);
	opt_finish(&verb_history_options, &chosen);
	return code;
}
