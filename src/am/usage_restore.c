/* What a task has used so far, for an AM that follows another: members of its line of
 * metrics.jsonl.
 */
#include "am/series_text.h"
#include "am/usage_internal.h"
#include "base/json.h"

#define AMOUNT_MAX 1e18

json_t *usage_to_resume(const struct usage *usage)
{
	const struct usage_total *total = &usage->total;
	json_t *object = json_object(), *last = metrics_to_json(&usage->last);

	json_set_int(object, "epoch", usage->of.epoch);
	json_set_int(object, "restart", usage->of.restart);
	json_set_int(object, "last_ms", usage->last_at);
	json_set_int(last, "sampled_ms", usage->last.sampled_ms);
	json_object_set_new(object, "last", last);
	json_object_set_new(object, "rss_sum", json_real(total->rss_sum));
	json_object_set_new(object, "cpu_ms", json_real(total->cpu_ms));
	json_object_set_new(object, "cpu_time_ms", json_real(total->cpu_time_ms));
	json_object_set_new(object, "process_cpu_ms", json_real(usage->cpu_ms));
	json_object_set_new(object, "process_cpu_time_ms", json_real(usage->cpu_time_ms));
	json_object_set_new(object, "gpu_sum", json_real(total->gpu_sum));
	json_object_set_new(object, "gpu_samples", json_real(total->gpu_samples));
	return object;
}

/* Absent or not good: as it was. */
static void restore_amount(const json_t *object, const char *name, double *value)
{
	const json_t *member = json_object_get(object, name);
	double amount = json_number_value(member);

	if (json_is_number(member) && amount >= 0 && amount <= AMOUNT_MAX)
		*value = amount;
}

static void restore_count(const json_t *object, const char *name, int64_t *value)
{
	double amount = (double)*value;

	restore_amount(object, name, &amount);
	*value = (int64_t)amount;
}

static void restore_total(struct usage_total *total, const json_t *line, const json_t *resume)
{
	restore_count(line, "samples", &total->samples);
	if (total->samples < 1)
		total->samples = 1; /* means are over some */
	restore_count(line, "max_rss_bytes", &total->max_rss_bytes);
	restore_count(line, "max_pss_bytes", &total->max_pss_bytes);
	restore_count(line, "longest_silence_ms", &total->longest_silence_ms);
	restore_count(line, "late_beats", &total->late_beats);
	restore_amount(resume, "rss_sum", &total->rss_sum);
	restore_amount(resume, "cpu_ms", &total->cpu_ms);
	restore_amount(resume, "cpu_time_ms", &total->cpu_time_ms);
	restore_amount(resume, "gpu_sum", &total->gpu_sum);
	restore_amount(resume, "gpu_samples", &total->gpu_samples);
}

static int restore_number(const json_t *object, const char *name)
{
	int64_t number = 0;

	restore_count(object, name, &number);
	return number <= INT32_MAX ? (int)number : 0;
}

static void restore_last(struct usage *usage, const json_t *line, const json_t *resume)
{
	if (metrics_from_json(json_object_get(resume, "last"), &usage->last, NULL) < 0)
		return;
	usage->of.attempt = restore_number(line, "attempt");
	usage->of.epoch = restore_number(resume, "epoch");
	usage->of.restart = restore_number(resume, "restart");
	restore_count(resume, "last_ms", &usage->last_at);
	restore_amount(resume, "process_cpu_ms", &usage->cpu_ms);
	restore_amount(resume, "process_cpu_time_ms", &usage->cpu_time_ms);
}

/* Series of one device, or of the task itself, as /v1/series has them. */
struct columns {
	const json_t *times; /* all have the same; NULL: there are none */
	const json_t *values[USAGE_SERIES_COUNT];
};

static void find_columns(const json_t *list, int gpu, struct columns *columns)
{
	size_t i;
	json_t *row;

	*columns = (struct columns){0};
	json_array_foreach(list, i, row)
	{
		const char *name = json_string_value(json_object_get(row, "name"));
		const json_t *device = json_object_get(row, "gpu");
		int of = json_is_integer(device) ? (int)json_integer_value(device) : -1;
		int series = name ? usage_find_series(name) : -1;
		if (series < 0 || of != gpu || (series < USAGE_COLUMNS) != (gpu < 0))
			continue;
		columns->times = json_object_get(row, "t");
		columns->values[series] = json_object_get(row, "v");
	}
}

static void restore_series(struct series *series, const struct columns *columns, size_t first,
			   size_t count, int64_t now_ms)
{
	double values[USAGE_SERIES_COUNT];
	int64_t time_ms;
	size_t i;
	json_t *time;

	json_array_foreach(columns->times, i, time)
	{
		if (!series_parse_time(time, now_ms, &time_ms))
			continue;
		for (size_t k = 0; k < count; k++)
			values[k] =
				series_parse_value(json_array_get(columns->values[first + k], i));
		series_add(series, time_ms, 0, values);
	}
}

/* As many devices as a task may have, in the order in which they were measured. */
static void restore_gpus(struct usage *usage, const json_t *list, int64_t now_ms)
{
	struct columns columns;
	size_t i;
	json_t *row;

	json_array_foreach(list, i, row)
	{
		const json_t *device = json_object_get(row, "gpu");
		int64_t index = json_is_integer(device) ? json_integer_value(device) : -1;
		size_t known = usage->gpu_count;
		if (index < 0 || index > METRICS_GPU_INDEX_MAX)
			continue;
		struct series *series = usage_gpu_series(usage, (int)index);
		if (usage->gpu_count == known)
			continue; /* it has its points, or is one too many */
		find_columns(list, (int)index, &columns);
		restore_series(series, &columns, USAGE_COLUMNS, USAGE_GPU_COLUMNS, now_ms);
	}
}

void usage_restore(struct usage *usage, const json_t *line, int64_t now_ms)
{
	const json_t *list = json_object_get(line, "series");
	const json_t *resume = json_object_get(line, "resume");
	struct columns columns;

	restore_total(&usage->total, line, resume);
	restore_last(usage, line, resume);
	find_columns(list, -1, &columns);
	restore_series(usage->series, &columns, 0, USAGE_COLUMNS, now_ms);
	restore_gpus(usage, list, now_ms);
}
