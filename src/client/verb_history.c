#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "client/opened.h"
#include "client/report.h"
#include "client/schedulers.h"
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

/* The jobs that are shown; the caller frees. Of jobs whose journal cannot be read the reason is
 * told. */
static struct opened *open_jobs(const struct history_options *chosen,
				const struct job_summary *jobs, size_t count, size_t *shown)
{
	struct opened *opened = mem_alloc_array(count, sizeof(*opened));

	*shown = 0;
	for (size_t i = 0; i < count && (int64_t)*shown < chosen->last; i++) {
		struct err err cleanup_err = {0};
		if (!job_state_is_final(jobs[i].state) ||
		    (chosen->state && !str_equal(chosen->state, job_state_name(jobs[i].state))))
			continue;
		if (opened_find(&opened[*shown], jobs[i].id, &err) < 0) {
			report_error(&err);
		} else if (opened[*shown].view->is_final) {
			++*shown;
			continue;
		}
		opened_finish(&opened[*shown]);
		opened[*shown] = (struct opened){0};
	}
	return opened;
}

static void print_json(const struct opened *jobs, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, job_view_to_json(jobs[i].view));
	report_json(list);
}

static void add_row(struct report_table *table, const struct opened *opened)
{
	const struct job_view *view = opened->view;
	int64_t lasted = view->ended_ms - view->job->submitted_ms;
	char *ended cleanup_free = str_format_time(view->ended_ms);

	ended[strlen("2026-11-21T06:14")] = '\0';
	report_table_add(table, opened->id);
	report_table_add(table, job_state_name(view->state));
	report_table_add(table, ended);
	report_table_take(table, str_format_duration(lasted > 0 ? lasted : 0));
	report_table_take(table, view->state == JOB_SUCCEEDED || !view->message
					 ? mem_strdup(view->job->name)
					 : mem_printf("%s: %s", view->job->name, view->message));
}

static void print_table(const struct opened *jobs, size_t count)
{
	static const char *const headings[] = {"JOB", "STATE", "ENDED", "TOOK", "NAME, CAUSE"};
	struct report_table table = {0};

	report_table_begin(&table, headings, array_length(headings));
	for (size_t i = 0; i < count; i++)
		add_row(&table, &jobs[i]);
	report_table_print(&table);
	report_table_finish(&table);
}

static void print_history(const struct history_options *chosen, const struct job_summary *jobs,
			  size_t count)
{
	size_t shown;
	struct opened *opened cleanup_free = open_jobs(chosen, jobs, count, &shown);

	if (chosen->json)
		print_json(opened, shown);
	else if (shown > 0)
		print_table(opened, shown);
	else
		fputs(chosen->state ? "No job has ended so.\n"
				    : "No job has ended yet; tony list shows those that run.\n",
		      stderr);
	for (size_t i = 0; i < shown; i++)
		opened_finish(&opened[i]);
}

static int run(const struct history_options *chosen, const struct str_list *operands,
	       struct err *err)
{
	struct job_summary *jobs;
	size_t count;

	if (report_no_operand(&verb_history_options, operands, err) < 0 ||
	    schedulers_list(&jobs, &count, err) < 0)
		return -1;
	print_history(chosen, jobs, count);
	job_summaries_free(jobs, count);
	return 0;
}

int verb_history(int argc, char **argv)
{
	struct err err cleanup_err = {0};
	struct history_options chosen = {.last = 20};
	struct str_list operands cleanup_str_list = {0};
	int code = 0;

	if (report_parse(&verb_history_options, argc, argv, &chosen, &operands, &code) &&
	    run(&chosen, &operands, &err) < 0)
		code = report_error(&err);
	opt_finish(&verb_history_options, &chosen);
	return code;
}
