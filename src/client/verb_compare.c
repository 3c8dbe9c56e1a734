/* tony compare: runs side by side, as the portal's page has them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "client/advice.h"
#include "client/job_choice.h"
#include "client/opened_jobs.h"
#include "client/report.h"
#include "client/verbs.h"
#include "portal/comparison.h"

enum { ANSWER_MS = 5000 /* for AMs of jobs that go on */ };

struct compare_options {
	bool all, csv, json;
};

static const struct opt options[] = {
	OPT_ROW("all", struct compare_options, all, "also what is the same in all of them"),
	OPT_ROW("csv", struct compare_options, csv,
		"as CSV, all of it: times in ms, sizes in bytes or MiB"),
	OPT_ROW("json", struct compare_options, json, "as JSON, all of it (docs/json.md)"),
};

/* ---- a run, as comparison.h has it -------------------------------------------------------- */

static json_t *describe_environment(const struct job *job)
{
	json_t *types = json_object();

	for (size_t i = 0; i < job->type_count; i++)
		json_object_set_new(types, job->types[i].name,
				    job_environment_to_json(job, i, true));
	return types;
}

/* Of the first task of each type. An AM that does not answer has measured nothing that is known. */
static json_t *find_metrics(const struct opened *opened)
{
	const struct job *job = opened->view->job;
	json_t *kept cleanup_json = opened->view->is_final ? advice_series(opened) : NULL;
	json_t *list = json_array();

	for (size_t i = 0; i < job->type_count; i++) {
		char *task cleanup_free = job_task_name(job, i, 0);
		char *path cleanup_free = mem_printf("/v1/series?task=%s", task);
		if (kept)
			json_array_append(list, json_object_get(kept, task));
		else
			json_array_append_new(list, opened_ask(opened, "GET", path, NULL, NULL));
	}
	return list;
}

static json_t *describe_run(const struct opened *opened)
{
	const struct job *job = opened->view->job;
	json_t *run = json_object();

	json_object_set_new(run, "job", job_view_to_json(opened->view));
	json_object_set_new(run, "summary", opened->view->is_final ? advice_summary(opened) : NULL);
	json_object_set(run, "config", job->config);
	json_object_set_new(run, "environment", describe_environment(job));
	json_object_set_new(run, "metrics", find_metrics(opened));
	return run;
}

static int open_job(struct opened *opened, const char *word, void *data, struct err *err)
{
	(void)data;
	return opened_find_any(opened, word, err);
}

static int check_count(size_t count, struct err *err)
{
	if (count >= COMPARISON_LEAST && count <= COMPARISON_MOST)
		return 0;
	return err_set(err, ERR_USAGE,
		       "name %d to %d jobs to compare; tony history lists those that have ended",
		       COMPARISON_LEAST, COMPARISON_MOST);
}

/* Returns an exit code, or -1: `err`. */
static int add_runs(const struct str_list *words, json_t *runs, struct err *err)
{
	struct opened_jobs jobs cleanup_opened_jobs = {0};

	if (check_count(words->count, err) < 0)
		return -1;
	opened_jobs_find(&jobs, words, open_job, NULL);
	if (jobs.code == 0 && jobs.count == 1)
		return err_set(err, ERR_USAGE, "all these words mean one job, %s; name another one",
			       jobs.items[0].opened.id);
	if (jobs.code == 0 && check_count(jobs.count, err) < 0)
		return -1;
	if (jobs.code == 0)
		opened_jobs_greet(&jobs, false, ANSWER_MS);
	for (size_t i = 0; i < jobs.count && jobs.code == 0; i++)
		json_array_append_new(runs, describe_run(&jobs.items[i].opened));
	return jobs.code;
}

/* ---- for people --------------------------------------------------------------------------- */

/* The caller frees. */
static char *format_value(const json_t *value, const char *unit)
{
	if (json_is_string(value))
		return mem_strdup(json_string_value(value));
	if (!json_is_number(value))
		return mem_strdup("");
	double number = json_number_value(value);
	if (str_equal(unit, "time"))
		return str_format_time((int64_t)number);
	if (str_equal(unit, "ms"))
		return str_format_duration((int64_t)number);
	if (str_equal(unit, "mib"))
		return str_format_mib(number);
	if (str_equal(unit, "bytes"))
		return str_format_bytes((int64_t)number);
	return mem_printf("%.6g%s", number, str_equal(unit, "percent") ? " %" : "");
}

static void print_table(const json_t *comparison, bool all)
{
	const json_t *runs = json_object_get(comparison, "runs"), *row, *value;
	const char *headings[2 + COMPARISON_MOST] = {"OF", "KEY"};
	struct report_table table = {0};
	size_t count = json_array_size(runs), i, k;

	for (i = 0; i < count; i++)
		headings[2 + i] =
			json_string_value(json_object_get(json_array_get(runs, i), "label"));
	report_table_begin(&table, headings, 2 + count);
	json_array_foreach(json_object_get(comparison, "rows"), i, row)
	{
		const char *unit = json_string_value(json_object_get(row, "unit"));
		if (!all && !json_is_true(json_object_get(row, "differs")))
			continue;
		report_table_add(&table, json_string_value(json_object_get(row, "group")));
		report_table_add(&table, json_string_value(json_object_get(row, "key")));
		json_array_foreach(json_object_get(row, "values"), k, value)
		{
			report_table_take(&table, format_value(value, unit));
		}
	}
	report_table_print(&table);
	report_table_finish(&table);
}

/* ------------------------------------------------------------------------------------------- */

/* As report_text(), line by line. */
static void print_lines(char *text)
{
	for (char *line = text; line && *line;) {
		char *end = line + strcspn(line, "\n");
		bool is_last = !*end;
		*end = '\0';
		report_text(line);
		line = is_last ? end : end + 1;
	}
}

static int print_comparison(void *data, const struct verb_call *call, struct err *err)
{
	const struct compare_options *chosen = data;
	const struct str_list no_tags = {0};
	const struct job_choice choice = {&verb_compare.options, call->operands, &no_tags, false};
	struct str_list jobs cleanup_str_list = {0};
	json_t *runs cleanup_json = json_array();
	struct str csv cleanup_str = {0};

	if (chosen->csv && chosen->json)
		return err_set(err, ERR_USAGE, "--csv or --json: not both");
	if (job_choice_find(&choice, &jobs, err) < 0)
		return -1;
	int code = add_runs(&jobs, runs, err);
	if (code != 0)
		return code;
	json_t *comparison cleanup_json = comparison_make(runs);
	if (chosen->json) {
		report_json(json_incref(comparison));
	} else if (chosen->csv) {
		comparison_to_csv(comparison, &csv);
		print_lines(csv.text);
	} else {
		print_table(comparison, chosen->all);
	}
	return 0;
}

const struct verb verb_compare = {
	.options =
		{
			.verb = "compare",
			.usage = "tony compare [OPTIONS] JOB JOB...",
			.summary = "print what differs between two to ten jobs: settings, "
				   "environment, results",
			.options = options,
			.option_count = array_length(options),
		},
	.size = sizeof(struct compare_options),
	.run = print_comparison,
};
