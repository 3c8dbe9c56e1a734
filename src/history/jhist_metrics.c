/* What TonY has measured: per task, at its end, a maximum or an average of each kind. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "history/jhist_internal.h"

#define MAX_MEMORY  "MAX_MEMORY_BYTES"
#define AVERAGE_GPU "AVG_GPU_UTILIZATION"

/* ---- lines -------------------------------------------------------------------------------- */

/* TonY's own names in lower case, but for the one that tony has, too. */
static char *series_name(const char *metric)
{
	char *name = mem_strdup(str_equal(metric, MAX_MEMORY) ? "rss_bytes" : metric);

	for (char *c = name; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return name;
}

static const char *unit_of(const char *name)
{
	if (str_ends_with(name, "bytes"))
		return "bytes";
	return str_ends_with(name, "utilization") || str_ends_with(name, "usage") ? "percent" : "";
}

static json_t *series_of(const json_t *metric, int64_t time_ms)
{
	const char *text = json_string_value(json_object_get(metric, "name"));
	json_t *value = json_object_get(metric, "value");

	if (!text || !json_is_number(value))
		return NULL;
	char *name cleanup_free = series_name(text);
	json_t *series = json_object();
	json_set_text(series, "name", name);
	json_set_text(series, "unit", unit_of(name));
	json_set_text(series, "kind", "gauge");
	json_object_set_new(series, "gpu", json_null());
	json_object_set_new(series, "t", json_pack("[I]", (json_int_t)time_ms));
	json_object_set_new(series, "v", json_pack("[O]", value));
	return series;
}

static void append_line(struct str *lines, const struct jhist_event *event, int attempt)
{
	const json_t *metric;
	json_t *line cleanup_json = json_object(), *list = json_array();
	json_int_t index = json_integer_value(json_object_get(event->body, "taskIndex"));
	char *task cleanup_free =
		mem_printf("%s:%lld", jhist_event_text(event, "taskType"), (long long)index);
	size_t i;

	json_set_text(line, "task", task);
	json_set_int(line, "attempt", attempt);
	json_object_set_new(line, "series", list);
	json_object_set_new(line, "user", json_array());
	json_array_foreach(json_object_get(event->body, "metrics"), i, metric)
	{
		json_t *series = series_of(metric, event->time_ms);
		if (series)
			json_array_append_new(list, series);
	}
	if (json_array_size(list) == 0)
		return;
	char *text cleanup_free = json_text(line);
	str_append_format(lines, "%s\n", text);
}

char *jhist_metrics(const struct job *job, const json_t *records)
{
	int *attempts cleanup_free = mem_alloc_array(job_task_count(job), sizeof(*attempts));
	struct str lines = {0};
	const json_t *record;
	size_t i;

	json_array_foreach(records, i, record)
	{
		struct jhist_event event;
		if (!jhist_event_of(record, &event))
			continue;
		int64_t task = jhist_event_task(job, &event);
		if (task >= 0 && str_equal(event.kind, "TASK_STARTED"))
			attempts[task]++;
		else if (task >= 0 && str_equal(event.kind, "TASK_FINISHED"))
			append_line(&lines, &event, attempts[task]);
	}
	return str_steal(&lines);
}

/* ---- sums --------------------------------------------------------------------------------- */

/* False: it was not measured. */
static bool find_metric(const struct jhist_event *event, const char *name, double *value)
{
	const json_t *metric;
	size_t i;

	json_array_foreach(json_object_get(event->body, "metrics"), i, metric)
	{
		const json_t *number = json_object_get(metric, "value");
		if (str_equal(json_string_value(json_object_get(metric, "name")), name) &&
		    json_is_number(number)) {
			*value = json_number_value(number);
			return *value >= 0 && *value < 9e18;
		}
	}
	return false;
}

static int by_size(const void *left, const void *right)
{
	const double *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static void measure_type(const struct job *job, size_t number, const json_t *records,
			 struct history_type *type)
{
	double *rss cleanup_free = mem_alloc_array(json_array_size(records), sizeof(*rss));
	double gpu, gpu_sum = 0;
	size_t rss_count = 0, gpu_count = 0, i;
	const json_t *record;

	json_array_foreach(records, i, record)
	{
		struct jhist_event event;
		if (!jhist_event_of(record, &event) || !str_equal(event.kind, "TASK_FINISHED") ||
		    !str_equal(jhist_event_text(&event, "taskType"), job->types[number].name))
			continue;
		if (find_metric(&event, MAX_MEMORY, &rss[rss_count]))
			rss_count++;
		if (find_metric(&event, AVERAGE_GPU, &gpu) && gpu <= 100) {
			gpu_sum += gpu;
			gpu_count++;
		}
	}
	if (rss_count > 0) {
		qsort(rss, rss_count, sizeof(*rss), by_size);
		type->max_rss_bytes = (int64_t)rss[rss_count - 1];
		type->p95_rss_bytes = (int64_t)rss[(rss_count * 95 + 99) / 100 - 1];
	}
	if (gpu_count > 0)
		type->average_gpu_percent = (int64_t)(gpu_sum / (double)gpu_count + 0.5);
}

void jhist_measure(const struct job *job, const json_t *records, struct history_summary *summary)
{
	for (size_t i = 0; i < job->type_count; i++)
		measure_type(job, i, records, &summary->types[i]);
}
