#include "history/measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"

#define BYTES_MAX   1e15
#define PERCENT_MAX 1e9
#define BEATS_MAX   1e9
#define MS_MAX	    1e15

void history_measure_add_rss(struct history_measure *measure, double bytes)
{
	if (measure->rss_count == measure->rss_capacity) {
		measure->rss_capacity = 2 * measure->rss_capacity + 64;
		measure->rss = mem_realloc_array(measure->rss, measure->rss_capacity,
						 sizeof(*measure->rss));
	}
	measure->rss[measure->rss_count++] = bytes;
}

void history_measure_add_silence(struct history_measure *measure, int64_t longest_ms,
				 int64_t late_beats)
{
	if (longest_ms > measure->longest_silence_ms)
		measure->longest_silence_ms = longest_ms;
	measure->late_beats += late_beats;
}

static int by_size(const void *a, const void *b)
{
	const double *first = a, *second = b;

	return (*first > *second) - (*first < *second);
}

/* The least that 95 of 100 do not exceed. */
static int64_t p95(struct history_measure *measure)
{
	if (measure->rss_count == 0)
		return 0;
	qsort(measure->rss, measure->rss_count, sizeof(*measure->rss), by_size);
	return (int64_t)measure->rss[(measure->rss_count * 95 + 99) / 100 - 1];
}

static int64_t percent(double sum, double count)
{
	return count > 0 ? (int64_t)(sum / count + 0.5) : -1;
}

void history_measure_finish(struct history_measure *measure, struct history_type *type)
{
	type->max_rss_bytes = measure->max_rss_bytes;
	type->max_pss_bytes = measure->max_pss_bytes;
	type->p95_rss_bytes = p95(measure);
	type->average_cpu_percent = percent(100 * measure->cpu_ms, measure->cpu_time_ms);
	type->average_gpu_percent = percent(measure->gpu_sum, measure->gpu_samples);
	type->longest_silence_ms = measure->longest_silence_ms;
	type->late_beats = measure->late_beats;
	free(measure->rss);
	*measure = (struct history_measure){0};
}

/* ---- out of a metrics.jsonl --------------------------------------------------------------- */

/* False: it is a gap, or no figure at all. */
static bool read_figure(const json_t *value, double most, double *figure)
{
	if (!json_is_number(value))
		return false;
	*figure = json_number_value(value);
	return *figure >= 0 && *figure <= most;
}

static void take_rss(struct history_measure *measure, const json_t *values)
{
	double bytes;
	size_t i;
	json_t *value;

	json_array_foreach(values, i, value)
	{
		if (!read_figure(value, BYTES_MAX, &bytes))
			continue;
		history_measure_add_rss(measure, bytes);
		measure->max_rss_bytes = (int64_t)fmax(bytes, (double)measure->max_rss_bytes);
	}
}

/* A point stands for the time since the one before it. */
static void take_cpu(struct history_measure *measure, const json_t *values, const json_t *times)
{
	double percents;
	size_t i;
	json_t *value;

	json_array_foreach(values, i, value)
	{
		int64_t now = json_integer_value(json_array_get(times, i));
		int64_t before = i > 0 ? json_integer_value(json_array_get(times, i - 1)) : 0;
		if (before <= 0 || now <= before || !read_figure(value, PERCENT_MAX, &percents))
			continue;
		measure->cpu_time_ms += (double)(now - before);
		measure->cpu_ms += (double)(now - before) * percents / 100;
	}
}

static void take_gpu(struct history_measure *measure, const json_t *values)
{
	double percents;
	size_t i;
	json_t *value;

	json_array_foreach(values, i, value)
	{
		if (!read_figure(value, 100, &percents))
			continue;
		measure->gpu_sum += percents;
		measure->gpu_samples++;
	}
}

static void take_series(struct history_measure *measure, const json_t *series)
{
	const char *name = json_string_value(json_object_get(series, "name"));
	const json_t *values = json_object_get(series, "v");

	if (!name)
		return;
	if (strcmp(name, "rss_bytes") == 0)
		take_rss(measure, values);
	else if (strcmp(name, "cpu_percent") == 0)
		take_cpu(measure, values, json_object_get(series, "t"));
	else if (strcmp(name, "gpu_utilization_percent") == 0)
		take_gpu(measure, values);
}

/* Which row of the summary a task belongs to; -1: it is none of this job's. */
static int find_row(const struct job *job, const char *task)
{
	const char *colon = task ? strrchr(task, ':') : NULL;

	if (!colon || job_find_task(job, task) < 0)
		return -1;
	char *type cleanup_free = mem_strndup(task, (size_t)(colon - task));
	return job_find_type(job, type);
}

static void take_silence(struct history_measure *measure, const json_t *line)
{
	double longest_ms = 0, late_beats = 0;

	if (read_figure(json_object_get(line, "longest_silence_ms"), MS_MAX, &longest_ms) &&
	    read_figure(json_object_get(line, "late_beats"), BEATS_MAX, &late_beats))
		history_measure_add_silence(measure, (int64_t)longest_ms, (int64_t)late_beats);
}

static void take_line(const struct job *job, const json_t *line, struct history_measure *types)
{
	int row = find_row(job, json_string_value(json_object_get(line, "task")));
	double most;
	size_t i;
	json_t *series;

	if (row < 0)
		return;
	json_array_foreach(json_object_get(line, "series"), i, series)
	{
		take_series(&types[row], series);
	}
	take_silence(&types[row], line);
	/* The most of one measurement, which the means do not show. */
	if (read_figure(json_object_get(line, "max_rss_bytes"), BYTES_MAX, &most))
		types[row].max_rss_bytes = (int64_t)fmax(most, (double)types[row].max_rss_bytes);
	if (read_figure(json_object_get(line, "max_pss_bytes"), BYTES_MAX, &most))
		types[row].max_pss_bytes = (int64_t)fmax(most, (double)types[row].max_pss_bytes);
}

int history_measure_file(const struct job *job, const char *path, struct history_summary *summary,
			 struct err *err)
{
	struct history_measure *types cleanup_free =
		mem_alloc_array(summary->type_count, sizeof(*types));
	FILE *file = fopen(path, "re");
	char *text cleanup_free = NULL;
	size_t capacity = 0;
	ssize_t length;

	if (!file)
		return err_set_errno(err, "%s", path);
	while ((length = getline(&text, &capacity, file)) > 0) {
		json_t *line cleanup_json = json_parse(text, (size_t)length, NULL);
		take_line(job, line, types);
	}
	fclose(file);
	for (size_t i = 0; i < summary->type_count; i++)
		history_measure_finish(&types[i], &summary->types[i]);
	return 0;
}
