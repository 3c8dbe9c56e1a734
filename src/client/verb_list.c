#include <stdio.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "client/exit_code.h"
#include "client/job_list.h"
#include "client/report.h"
#include "client/verbs.h"

struct list_options {
	bool json;
	bool all;
};

static const struct opt options[] = {
	{.name = "all",
	 .letter = 'a',
	 .kind = OPT_FLAG,
	 .offset = offsetof(struct list_options, all),
	 .help = "also the jobs that have ended"},
	{.name = "json",
	 .kind = OPT_FLAG,
	 .offset = offsetof(struct list_options, json),
	 .help = "as JSON (docs/json.md)"},
};

const struct opt_table verb_list_options = {
	.verb = "list",
	.usage = "tony list [OPTIONS]",
	.summary = "list the jobs that run",
	.options = options,
	.option_count = array_length(options),
};

static json_t *summary_to_json(const struct job_summary *job)
{
	json_t *object = json_object();

	json_set_text(object, "id", job->id);
	json_set_text(object, "name", job->name);
	json_set_text(object, "user", job->user);
	json_set_text(object, "framework", job->framework);
	json_set_text(object, "state", job_state_name(job->state));
	exit_code_set_member(object, job->state);
	json_set_int(object, "submitted_ms", job->submitted_ms);
	if (job->ended_ms > 0)
		json_set_int(object, "ended_ms", job->ended_ms);
	json_set_text(object, "message", job->message);
	return object;
}

static void print_json(const struct job_list *list)
{
	json_t *array = json_array();

	for (size_t i = 0; i < list->count; i++)
		json_array_append_new(array, summary_to_json(&list->items[i]));
	report_json(array);
}

static void add_row(struct report_table *table, const struct job_summary *job, int64_t now)
{
	int64_t lasted = (job->ended_ms > 0 ? job->ended_ms : now) - job->submitted_ms;

	report_table_add(table, job->id);
	report_table_add(table, job_state_name(job->state));
	report_table_add(table, job->framework);
	report_table_take(table, str_format_duration(lasted > 0 ? lasted : 0));
	report_table_add_job(table, job->name, job->state, job->message);
}

static void print_table(const struct job_list *list)
{
	static const char *const headings[] = {"JOB", "STATE", "FRAMEWORK", "FOR", "NAME, CAUSE"};
	struct report_table table = {0};
	int64_t now = clock_wall_ms();

	report_table_begin(&table, headings, array_length(headings));
	for (size_t i = 0; i < list->count; i++)
		add_row(&table, &list->items[i], now);
	report_table_print(&table);
	report_table_finish(&table);
}

static void print_jobs(const struct list_options *chosen, const struct job_list *list)
{
	if (chosen->json)
		print_json(list);
	else if (list->count > 0)
		print_table(list);
	else
		fputs(chosen->all ? "There is no job yet; tony submit starts one.\n"
				  : "No job runs; tony submit starts one, tony history lists those "
				    "that have ended.\n",
		      stderr);
}

static int list_jobs(const struct list_options *chosen, struct err *err)
{
	const struct job_list_filter filter = {.live_only = !chosen->all};
	struct job_list list cleanup_job_list = {0};

	if (job_list_find(&filter, &list, err) < 0)
		return -1;
	print_jobs(chosen, &list);
	return 0;
}

int verb_list(int argc, char **argv)
{
	struct err err cleanup_err = {0};
	struct list_options chosen = {0};
	struct str_list operands cleanup_str_list = {0};
	int code;

	if (!report_parse(&verb_list_options, argc, argv, &chosen, &operands, &code))
		return code;
	if (report_no_operand(&verb_list_options, &operands, &err) < 0 ||
	    list_jobs(&chosen, &err) < 0)
		return report_error(&err);
	return EXIT_CODE_OK;
}
