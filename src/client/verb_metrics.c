/* tony metrics: what tasks used over time, and what their programs told of themselves. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "client/advice.h"
#include "client/opened.h"
#include "client/report.h"
#include "client/verbs.h"
#include "job/series_text.h"

#define POINTS 2000 /* more than a series has */

struct metrics_options {
	struct str_list tasks, names;
	bool json;
};

static const struct opt options[] = {
	OPT_ROW("task", struct metrics_options, tasks,
		"only this task, such as worker:1 or worker (all of them); may be repeated",
		.letter = 't', .argument = "TASK", .completion = OPT_COMPLETE_TASK),
	OPT_ROW("name", struct metrics_options, names,
		"only the series of this name, such as loss or cpu_percent; may be repeated",
		.argument = "NAME"),
	OPT_ROW("json", struct metrics_options, json,
		"all points: a JSON object for each task (docs/json.md)"),
};

/* A run of the verb. */
struct metrics {
	const struct metrics_options *chosen;
	const struct opened *opened;
	struct report_table table;
	size_t found;		/* series */
	struct str_list others; /* names of series that --name leaves out */
};

static bool is_chosen(const struct metrics *metrics, const char *task)
{
	const struct str_list *tasks = &metrics->chosen->tasks;
	char *type cleanup_free = mem_strndup(task, strcspn(task, ":"));

	return tasks->count == 0 || str_list_has(tasks, task) || str_list_has(tasks, type);
}

/* ---- for programs ------------------------------------------------------------------------- */

static void keep_named(struct metrics *metrics, json_t *list)
{
	const struct str_list *names = &metrics->chosen->names;

	for (size_t i = json_array_size(list); names->count > 0 && i-- > 0;) {
		const json_t *series = json_array_get(list, i);
		const char *name = json_string_value(json_object_get(series, "name"));
		if (name && str_list_has(names, name))
			continue;
		if (name && !str_list_has(&metrics->others, name))
			str_list_add(&metrics->others, name);
		json_array_remove(list, i);
	}
}

static json_t *take_list(const json_t *found, const char *name)
{
	json_t *list = json_object_get(found, name);

	return json_is_array(list) ? json_incref(list) : json_array();
}

static void print_json(const char *task, json_t *series, json_t *user)
{
	json_t *object cleanup_json = json_object();

	json_set_text(object, "task", task);
	json_object_set(object, "series", series);
	json_object_set(object, "user", user);
	char *text cleanup_free = json_text(object);
	report_text(text);
}

/* ---- for people --------------------------------------------------------------------------- */

static char *format_value(double value, const char *unit)
{
	if (isnan(value))
		return mem_strdup("");
	if (unit && str_starts_with(unit, "bytes")) {
		char *bytes cleanup_free = str_format_bytes((int64_t)value);
		return mem_printf("%s%s", bytes, str_equal(unit, "bytes") ? "" : "/s");
	}
	return mem_printf("%.6g%s", value, unit && str_equal(unit, "percent") ? " %" : "");
}

/* With what was told as NaN, which no figure shows. */
static char *format_last(const struct series_facts *facts, const char *unit)
{
	char *last cleanup_free = format_value(facts->last.value, unit);
	char *nans cleanup_free = series_nan_words(facts);

	if (!nans)
		return mem_steal(&last);
	return *last ? mem_printf("%s (%s)", last, nans) : mem_steal(&nans);
}

static char *name_series(const json_t *series)
{
	const char *name = json_string_value(json_object_get(series, "name"));
	const char *run = json_string_value(json_object_get(series, "run"));
	const json_t *gpu = json_object_get(series, "gpu");

	if (json_is_integer(gpu))
		return mem_printf("%s, GPU %" PRId64, name, (int64_t)json_integer_value(gpu));
	return run && *run ? mem_printf("%s, %s", name, run) : mem_strdup(name);
}

static void add_rows(struct metrics *metrics, const char *task, const json_t *list)
{
	json_t *series;
	size_t i;

	json_array_foreach(list, i, series)
	{
		const char *unit = json_string_value(json_object_get(series, "unit"));
		struct series_facts facts;
		double mean;
		size_t known = series_parse_facts(series, &facts, &mean);
		if ((known == 0 && facts.nans == 0) || !json_object_get(series, "name"))
			continue;
		report_table_add(&metrics->table, task);
		report_table_take(&metrics->table, name_series(series));
		report_table_take(&metrics->table, format_last(&facts, unit));
		report_table_take(&metrics->table, format_value(facts.least.value, unit));
		report_table_take(&metrics->table, format_value(facts.most.value, unit));
		report_table_take(&metrics->table, format_value(known > 0 ? mean : NAN, unit));
	}
}

/* ------------------------------------------------------------------------------------------- */

static void tell_task(struct metrics *metrics, const char *task, const json_t *found)
{
	json_t *series cleanup_json = take_list(found, "series");
	json_t *user cleanup_json = take_list(found, "user");

	keep_named(metrics, series);
	keep_named(metrics, user);
	metrics->found += json_array_size(series) + json_array_size(user);
	if (metrics->chosen->json) {
		print_json(task, series, user);
		return;
	}
	add_rows(metrics, task, user);
	add_rows(metrics, task, series);
}

/* The AM knows, while there is one. */
static int ask_am(struct metrics *metrics, const char *task, struct err *err)
{
	char *path cleanup_free = mem_printf("/v1/series?task=%s&points=%d", task, POINTS);
	json_t *answer cleanup_json = opened_ask(metrics->opened, "GET", path, NULL, err);

	if (!answer)
		return -1;
	tell_task(metrics, task, answer);
	return 0;
}

static int tell_all(struct metrics *metrics, struct err *err)
{
	const struct job_view *view = metrics->opened->view;
	json_t *kept cleanup_json = view->is_final ? advice_series(metrics->opened) : NULL;
	int result = 0;

	for (size_t i = 0; i < view->task_count && result == 0; i++) {
		char *task cleanup_free =
			job_task_name(view->job, view->tasks[i].type, view->tasks[i].index);
		if (!is_chosen(metrics, task))
			continue;
		if (kept)
			tell_task(metrics, task, json_object_get(kept, task));
		else
			result = ask_am(metrics, task, err);
	}
	return result;
}

/* Else nobody would know a job of which nothing was measured from a wrong command. */
static void tell_nothing(const struct metrics *metrics)
{
	const struct metrics_options *chosen = metrics->chosen;
	bool is_part = chosen->tasks.count > 0 || chosen->names.count > 0;
	char *others cleanup_free = str_list_join(&metrics->others, ", ");

	if (metrics->found == 0)
		report_note("nothing was measured of %s%s%s%s%s", metrics->opened->id,
			    metrics->opened->view->is_final ? "" : " so far",
			    is_part ? " of what is asked for" : "",
			    *others ? "; its numbers are " : "", others);
}

static int print_metrics(void *data, const struct verb_call *call, struct err *err)
{
	static const char *const headings[] = {"TASK", "NAME", "LAST", "LEAST", "MOST", "MEAN"};
	struct metrics metrics = {.chosen = data, .opened = call->opened};

	for (size_t i = 0; i < metrics.chosen->tasks.count; i++)
		if (opened_check_task(call->opened, metrics.chosen->tasks.items[i], err) < 0)
			return -1;
	report_table_begin(&metrics.table, headings, array_length(headings));
	int result = tell_all(&metrics, err);
	if (result == 0 && !metrics.chosen->json && metrics.found > 0)
		report_table_print(&metrics.table);
	report_table_finish(&metrics.table);
	if (result == 0)
		tell_nothing(&metrics);
	str_list_finish(&metrics.others);
	return result;
}

const struct verb verb_metrics = {
	.options =
		{
			.verb = "metrics",
			.usage = "tony metrics [OPTIONS] [JOB]",
			.summary = "print what the tasks of a job used, and what their programs "
				   "told of themselves",
			.options = options,
			.option_count = array_length(options),
		},
	.size = sizeof(struct metrics_options),
	.operands = VERB_JOB_ANY,
	.run = print_metrics,
};
