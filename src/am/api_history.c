/* What is kept of the metrics: metrics.jsonl, and the types' rows of summary.json. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "am/api_internal.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "history/measure.h"

enum { KEPT_POINTS_MIN = 16, POINT_BYTES = 42 /* its time, value, least and most, in digits */ };
#define KEPT_BYTES ((size_t)32 << 20) /* about, of the file */

/* ---- metrics.jsonl ------------------------------------------------------------------------ */

static size_t kept_points(const struct api *api)
{
	size_t points = KEPT_BYTES / api->task_count / (POINT_BYTES * USAGE_COLUMNS);

	if (points < KEPT_POINTS_MIN)
		return KEPT_POINTS_MIN;
	return points < SERIES_POINTS_MAX ? points : SERIES_POINTS_MAX;
}

/* Points of a series are means: the most that was seen is told beside them. */
static void append_total(const struct usage *usage, struct str *text)
{
	const struct usage_total *total = usage_total(usage);

	str_append_format(text,
			  "\"samples\":%" PRId64 ",\"max_rss_bytes\":%" PRId64
			  ",\"max_pss_bytes\":%" PRId64 ",\"longest_silence_ms\":%" PRId64
			  ",\"late_beats\":%" PRId64 ",",
			  total->samples, total->max_rss_bytes, total->max_pss_bytes,
			  total->longest_silence_ms, total->late_beats);
}

static void append_member(struct str *text, const char *name, json_t *value)
{
	char *member cleanup_free = json_text(value);

	str_append_format(text, "\"%s\":%s,", name, member);
	json_decref(value);
}

static void append_resume(const struct api_task *task, struct str *text)
{
	if (task->usage)
		append_member(text, "resume", usage_to_resume(task->usage));
	if (task->numbers)
		append_member(text, "numbers", user_series_to_resume(task->numbers));
}

void api_append_metrics(const struct api *api, size_t number, size_t points, struct str *text)
{
	const struct api_task *task = &api->tasks[number];
	char *name cleanup_free = api_task_name(api, number);

	str_append_format(text, "{\"task\":\"%s\",\"attempt\":%d,", name, task->of.attempt);
	if (task->usage)
		append_total(task->usage, text);
	append_resume(task, text);
	api_task_write_series(task, points, text);
	str_append_char(text, '}');
}

static int write_task(const struct api *api, size_t number, int fd, struct err *err)
{
	struct str text cleanup_str = {0};

	api_append_metrics(api, number, kept_points(api), &text);
	str_append_char(&text, '\n');
	return fs_write_all(fd, text.text, text.length, err);
}

int api_write_metrics(const struct api *api, size_t *next, size_t count, int fd, struct err *err)
{
	size_t end = count < api->task_count - *next ? *next + count : api->task_count;

	for (; *next < end; (*next)++)
		if ((api->tasks[*next].usage || api->tasks[*next].numbers) &&
		    write_task(api, *next, fd, err) < 0)
			return -1;
	return end == api->task_count;
}

static void restore_line(struct api *api, const char *text, size_t length)
{
	json_t *line cleanup_json = json_parse(text, length, NULL);
	const char *name = json_string_value(json_object_get(line, "task"));
	int64_t number = name ? machine_find_task(api->host.machine, name) : -1;

	if (number < 0 || api->tasks[number].usage || api->tasks[number].numbers)
		return;
	api_task_restore_metrics(api_get_task(api, (size_t)number), line);
}

int api_restore_metrics(struct api *api, const char *path, struct err *err)
{
	FILE *file = fopen(path, "re");
	char *text cleanup_free = NULL;
	size_t capacity = 0;
	ssize_t length;

	if (!file)
		return errno == ENOENT ? 0 : err_set_errno(err, "%s", path);
	while ((length = getline(&text, &capacity, file)) > 0)
		restore_line(api, text, (size_t)length);
	fclose(file);
	return 0;
}

/* ---- summary.json ------------------------------------------------------------------------- */

static void add_rss(struct history_measure *type, const struct usage *usage)
{
	struct series_point *points cleanup_free = NULL;
	size_t count = usage_read(usage, USAGE_RSS_BYTES, SERIES_POINTS_MAX, &points);

	for (size_t i = 0; i < count; i++)
		if (!isnan(points[i].value))
			history_measure_add_rss(type, points[i].value);
}

static void add_task(struct history_measure *type, const struct usage *usage)
{
	const struct usage_total *total = usage_total(usage);

	add_rss(type, usage);
	if (total->max_rss_bytes > type->max_rss_bytes)
		type->max_rss_bytes = total->max_rss_bytes;
	if (total->max_pss_bytes > type->max_pss_bytes)
		type->max_pss_bytes = total->max_pss_bytes;
	type->cpu_ms += total->cpu_ms;
	type->cpu_time_ms += total->cpu_time_ms;
	type->gpu_sum += total->gpu_sum;
	type->gpu_samples += total->gpu_samples;
	history_measure_add_silence(type, total->longest_silence_ms, total->late_beats);
}

void api_measure(const struct api *api, struct history_summary *summary)
{
	struct history_measure *types cleanup_free =
		mem_alloc_array(summary->type_count, sizeof(*types));

	for (size_t i = 0; i < api->task_count; i++)
		if (api->tasks[i].usage)
			add_task(&types[machine_task(api->host.machine, i)->type],
				 api->tasks[i].usage);
	for (size_t i = 0; i < summary->type_count; i++)
		history_measure_finish(&types[i], &summary->types[i]);
}
