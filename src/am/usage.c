#include "am/usage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "job/series_text.h"

#define MIB	   1048576.0
#define AMOUNT_MAX 1e18

struct gpu_usage {
	int index;
	struct series *series;
};

/* What there was at a time. */
struct usage_mark {
	int64_t at;
	double step; /* NAN: not told */
	double cpu_ms, cpu_time_ms, gpu_sum, gpu_samples;
};

struct usage {
	struct series_shape shape; /* of the task's own series */
	struct metrics last;
	struct program_identity of; /* of `last` */
	int64_t last_at;	    /* when it came, */
	int64_t last_distance_ms;   /* and how long after the one before */
	bool is_over;		    /* that process has ended, and counts whole */
	double cpu_ms, cpu_time_ms; /* of that process, as far as `total` has it already */
	struct usage_total total;
	/* Of this process, the first sample in each of the last two spans of recent_ms; all tasks'
	 * begin at the same time. */
	int64_t recent_ms, span;
	struct usage_mark marks[2];
	size_t mark_count;
	bool fell; /* it went back to a lower step: theirs cannot be compared */
	struct series *series;
	struct gpu_usage *gpus;
	size_t gpu_count;
};

static const struct {
	const char *name, *unit;
} all_series[USAGE_SERIES_COUNT] = {
	[USAGE_CPU_PERCENT] = {"cpu_percent", "percent"},
	[USAGE_RSS_BYTES] = {"rss_bytes", "bytes"},
	[USAGE_PSS_BYTES] = {"pss_bytes", "bytes"},
	[USAGE_READ_BYTES_PER_S] = {"read_bytes_per_s", "bytes_per_s"},
	[USAGE_WRITE_BYTES_PER_S] = {"write_bytes_per_s", "bytes_per_s"},
	[USAGE_NET_RECEIVE_BYTES_PER_S] = {"net_receive_bytes_per_s", "bytes_per_s"},
	[USAGE_NET_SEND_BYTES_PER_S] = {"net_send_bytes_per_s", "bytes_per_s"},
	[USAGE_PROCESSES] = {"processes", ""},
	[USAGE_THREADS] = {"threads", ""},
	[USAGE_GPU_UTILIZATION_PERCENT] = {"gpu_utilization_percent", "percent"},
	[USAGE_GPU_MEMORY_USED_BYTES] = {"gpu_memory_used_bytes", "bytes"},
	[USAGE_GPU_MEMORY_TOTAL_BYTES] = {"gpu_memory_total_bytes", "bytes"},
	[USAGE_GPU_POWER_WATTS] = {"gpu_power_watts", "watts"},
};

int usage_find_series(const char *name)
{
	for (int i = 0; i < USAGE_SERIES_COUNT; i++)
		if (strcmp(all_series[i].name, name) == 0)
			return i;
	return -1;
}

struct usage *usage_create(const struct series_shape *shape, int64_t recent_ms)
{
	struct usage *usage = mem_alloc(sizeof(*usage));

	usage->shape = *shape;
	usage->recent_ms = recent_ms;
	usage->series = series_create(shape);
	return usage;
}

void usage_destroy(struct usage *usage)
{
	if (!usage)
		return;
	for (size_t i = 0; i < usage->gpu_count; i++)
		series_destroy(usage->gpus[i].series);
	free(usage->gpus);
	series_destroy(usage->series);
	metrics_finish(&usage->last);
	free(usage);
}

const struct metrics *usage_last(const struct usage *usage)
{
	return &usage->last;
}

const struct usage_total *usage_total(const struct usage *usage)
{
	return &usage->total;
}

/* ---- adding ------------------------------------------------------------------------------- */

static bool is_same_process(const struct program_identity *a, const struct program_identity *b)
{
	return a->attempt == b->attempt && a->epoch == b->epoch && a->restart == b->restart;
}

/* Of what only grows, in a second. The share of processes that have gone is gone, too: then it is
 * not known. */
static double rate_of(int64_t before, int64_t after, int64_t elapsed_ms)
{
	if (before < 0 || after < before || elapsed_ms <= 0)
		return NAN;
	return (double)(after - before) * 1000 / (double)elapsed_ms;
}

/* ms between the last sample and this one; 0: they cannot be compared. */
static int64_t elapsed_since_last(const struct usage *usage, const struct program_identity *of,
				  const struct metrics *metrics, int64_t now_ms)
{
	const struct metrics *last = &usage->last;

	if (usage->total.samples == 0 || !is_same_process(&usage->of, of))
		return 0;
	if (last->sampled_ms > 0 && metrics->sampled_ms > 0)
		return metrics->sampled_ms - last->sampled_ms;
	return now_ms - usage->last_at;
}

static double known(int64_t value)
{
	return value < 0 ? NAN : (double)value;
}

static void add_cpu(struct usage *usage, double cpu_ms, double time_ms)
{
	usage->total.cpu_ms += cpu_ms;
	usage->total.cpu_time_ms += time_ms;
	usage->cpu_ms += cpu_ms;
	usage->cpu_time_ms += time_ms;
}

static void add_sample(struct usage *usage, const struct metrics *metrics, int64_t elapsed_ms,
		       int64_t now_ms)
{
	const struct metrics *last = &usage->last;
	double cpu = rate_of(last->cpu_ms, metrics->cpu_ms, elapsed_ms);
	const double values[USAGE_COLUMNS] = {
		[USAGE_CPU_PERCENT] = cpu / 10,
		[USAGE_RSS_BYTES] = (double)metrics->rss_bytes,
		[USAGE_PSS_BYTES] = (double)metrics->pss_bytes,
		[USAGE_READ_BYTES_PER_S] =
			rate_of(last->read_bytes, metrics->read_bytes, elapsed_ms),
		[USAGE_WRITE_BYTES_PER_S] =
			rate_of(last->write_bytes, metrics->write_bytes, elapsed_ms),
		[USAGE_NET_RECEIVE_BYTES_PER_S] =
			rate_of(last->net_receive_bytes, metrics->net_receive_bytes, elapsed_ms),
		[USAGE_NET_SEND_BYTES_PER_S] =
			rate_of(last->net_send_bytes, metrics->net_send_bytes, elapsed_ms),
		[USAGE_PROCESSES] = known(metrics->processes),
		[USAGE_THREADS] = known(metrics->threads),
	};

	series_add(usage->series, now_ms, 0, values);
	if (isnan(cpu))
		return;
	add_cpu(usage, (double)(metrics->cpu_ms - last->cpu_ms), (double)elapsed_ms);
}

/* NULL: it is one device too many. */
static struct series *gpu_series(struct usage *usage, int index)
{
	for (size_t i = 0; i < usage->gpu_count; i++)
		if (usage->gpus[i].index == index)
			return usage->gpus[i].series;
	if (usage->gpu_count == METRICS_GPUS_MAX)
		return NULL;
	usage->gpus = mem_realloc_array(usage->gpus, usage->gpu_count + 1, sizeof(*usage->gpus));
	struct gpu_usage *gpu = &usage->gpus[usage->gpu_count++];
	gpu->index = index;
	struct series_shape shape = usage->shape;
	shape.columns = USAGE_GPU_COLUMNS;
	gpu->series = series_create(&shape);
	return gpu->series;
}

static void add_gpu(struct usage *usage, const struct metrics_gpu *gpu, int64_t now_ms)
{
	struct series *series = gpu_series(usage, gpu->index);
	const double values[USAGE_GPU_COLUMNS] = {
		(double)gpu->utilization_percent,
		(double)gpu->memory_used_mib * MIB,
		(double)gpu->memory_total_mib * MIB,
		gpu->power_watts >= 0 ? (double)gpu->power_watts : NAN,
	};

	if (series)
		series_add(series, now_ms, 0, values);
	usage->total.gpu_sum += (double)gpu->utilization_percent;
	usage->total.gpu_samples++;
}

static void add_total(struct usage_total *total, const struct metrics *metrics)
{
	if (metrics->rss_bytes > total->max_rss_bytes)
		total->max_rss_bytes = metrics->rss_bytes;
	if (metrics->pss_bytes > total->max_pss_bytes)
		total->max_pss_bytes = metrics->pss_bytes;
	total->rss_sum += (double)metrics->rss_bytes;
	total->samples++;
}

static struct usage_mark mark_now(const struct usage *usage, int64_t now_ms)
{
	const struct usage_total *total = &usage->total;

	return (struct usage_mark){
		.at = now_ms,
		.step = usage->last.step >= 0 ? (double)usage->last.step : NAN,
		.cpu_ms = total->cpu_ms,
		.cpu_time_ms = total->cpu_time_ms,
		.gpu_sum = total->gpu_sum,
		.gpu_samples = total->gpu_samples,
	};
}

static void set_mark(struct usage *usage, int64_t now_ms)
{
	if (usage->mark_count > 0 && usage->span == now_ms / usage->recent_ms)
		return;
	usage->span = now_ms / usage->recent_ms;
	usage->marks[0] = usage->marks[1];
	usage->marks[1] = mark_now(usage, now_ms);
	usage->mark_count += usage->mark_count < array_length(usage->marks);
}

/* While no AM listened, or no program ran, samples are missing. A task that is measured rarely
 * comes evenly all the same. */
static void note_gap(struct usage *usage, int64_t now_ms)
{
	const int64_t distance_ms = now_ms - usage->last_at;

	if (usage->last_at == 0)
		return;
	if (usage->last_distance_ms > 0 && distance_ms > usage->recent_ms / 2 &&
	    distance_ms / 4 > usage->last_distance_ms) {
		series_break(usage->series);
		for (size_t i = 0; i < usage->gpu_count; i++)
			series_break(usage->gpus[i].series);
	}
	usage->last_distance_ms = distance_ms;
}

void usage_add(struct usage *usage, const struct program_identity *of, struct metrics *metrics,
	       int64_t now_ms)
{
	int64_t elapsed_ms = elapsed_since_last(usage, of, metrics, now_ms);

	if (!is_same_process(&usage->of, of)) {
		usage->mark_count = 0;
		usage->fell = usage->is_over = false;
		usage->cpu_ms = usage->cpu_time_ms = 0;
	} else if (metrics->step < usage->last.step && metrics->step >= 0) {
		usage->fell = true;
	}

	if (metrics->sampled_ms > 0 && metrics->sampled_ms == usage->last.sampled_ms) {
		usage->last.step = metrics->step;
		usage->last.steps = metrics->steps;
		metrics_finish(metrics);
		return;
	}
	note_gap(usage, now_ms);
	add_sample(usage, metrics, elapsed_ms, now_ms);
	for (size_t i = 0; i < metrics->gpu_count; i++)
		add_gpu(usage, &metrics->gpus[i], now_ms);
	add_total(&usage->total, metrics);
	metrics_finish(&usage->last);
	usage->last = *metrics;
	*metrics = (struct metrics){0};
	usage->of = *of;
	usage->last_at = now_ms;
	set_mark(usage, now_ms);
}

/* A process that was never measured: its whole life is one sample. */
static void add_life(struct usage *usage, const struct program_identity *of,
		     const struct program_use *use, int64_t now_ms)
{
	const struct metrics unknown = {
		.read_bytes = -1,
		.write_bytes = -1,
		.net_receive_bytes = -1,
		.net_send_bytes = -1,
		.processes = -1,
		.threads = -1,
		.step = -1,
		.steps = -1,
	};

	metrics_finish(&usage->last);
	usage->last = unknown;
	struct metrics life = unknown;
	life.rss_bytes = use->max_rss_bytes;
	life.pss_bytes = use->max_pss_bytes > 0 ? use->max_pss_bytes : use->max_rss_bytes;
	life.cpu_ms = use->cpu_ms;
	add_sample(usage, &life, use->ms, now_ms);
	add_total(&usage->total, &life);
	life.read_bytes = life.write_bytes = life.processes = life.threads = 0;
	usage->last = life;
	usage->of = *of;
	usage->last_at = now_ms;
	usage->mark_count = 0;
}

/* The samples miss the time before the first of them and after the last. A sample also counts
 * children that the program never waits for, so that its CPU time may exceed the kernel's sum. */
static void add_rest(struct usage *usage, const struct program_use *use)
{
	double cpu_ms = (double)use->cpu_ms - usage->cpu_ms;
	double time_ms = (double)use->ms - usage->cpu_time_ms;

	if (cpu_ms >= 0 && time_ms > 0)
		add_cpu(usage, cpu_ms, time_ms);
	if (use->max_rss_bytes > usage->total.max_rss_bytes)
		usage->total.max_rss_bytes = use->max_rss_bytes;
	if (use->max_pss_bytes > usage->total.max_pss_bytes)
		usage->total.max_pss_bytes = use->max_pss_bytes;
}

void usage_add_end(struct usage *usage, const struct program_identity *of,
		   const struct program_use *use, int64_t now_ms)
{
	bool is_measured = usage_is_of(usage, of);

	if (is_measured && usage->is_over)
		return;
	if (is_measured)
		add_rest(usage, use);
	else
		add_life(usage, of, use, now_ms);
	usage->is_over = true;
}

void usage_add_silence(struct usage *usage, int64_t silence_ms, int64_t interval_ms)
{
	if (silence_ms > usage->total.longest_silence_ms)
		usage->total.longest_silence_ms = silence_ms;
	usage->total.late_beats += silence_ms > 2 * interval_ms;
}

/* ---- of late ------------------------------------------------------------------------------ */

bool usage_is_of(const struct usage *usage, const struct program_identity *of)
{
	return usage->total.samples > 0 && is_same_process(&usage->of, of);
}

static double mean(double sum, double count)
{
	return count > 0 ? sum / count : NAN;
}

void usage_signs(const struct usage *usage, struct straggler_signs *signs)
{
	const struct usage_mark *then = &usage->marks[0];
	const struct usage_mark now = mark_now(usage, usage->last_at);

	if (!usage->fell)
		signs->step = now.step;
	if (usage->mark_count < array_length(usage->marks) ||
	    now.at - then->at < usage->recent_ms / 2)
		return;
	if (!usage->fell) {
		signs->step_before = then->step;
		signs->steps_made = now.step - then->step;
		signs->seconds = (double)(now.at - then->at) / 1000;
	}
	signs->cpu_percent =
		mean(100 * (now.cpu_ms - then->cpu_ms), now.cpu_time_ms - then->cpu_time_ms);
	signs->gpu_percent = mean(now.gpu_sum - then->gpu_sum, now.gpu_samples - then->gpu_samples);
}

/* ---- telling ------------------------------------------------------------------------------ */

json_t *usage_to_json(const struct usage *usage)
{
	const struct usage_total *total = &usage->total;
	json_t *object = metrics_to_json(&usage->last);

	json_set_int(object, "max_rss_bytes", total->max_rss_bytes);
	json_set_int(object, "max_pss_bytes", total->max_pss_bytes);
	json_set_int(object, "average_rss_bytes",
		     (int64_t)(total->rss_sum / (double)total->samples));
	json_set_int(object, "samples", total->samples);
	json_set_int(object, "longest_silence_ms", total->longest_silence_ms);
	json_set_int(object, "late_beats", total->late_beats);
	return object;
}

static bool has_values(const struct series_point *points, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!isnan(points[i].value))
			return true;
	return false;
}

static void write_series(const struct series *series, size_t column, enum usage_series name,
			 const struct gpu_usage *gpu, size_t limit, struct str *text)
{
	struct series_point *points cleanup_free = NULL;
	struct series_facts facts;
	size_t count = series_read(series, column, limit, &points);
	bool has_more = series_facts(series, column, count, &facts);
	const struct series_form form = {.facts = has_more ? &facts : NULL};

	if (!has_values(points, count))
		return;
	str_append_format(text, "%s{\"name\":\"%s\",\"unit\":\"%s\",\"kind\":\"gauge\",\"gpu\":",
			  text->text[text->length - 1] == '[' ? "" : ",", all_series[name].name,
			  all_series[name].unit);
	if (gpu)
		str_append_format(text, "%d,", gpu->index);
	else
		str_append(text, "null,");
	series_write(text, points, count, &form);
	str_append(text, "}");
}

static void write_columns(const struct series *series, const struct gpu_usage *gpu, size_t limit,
			  struct str *text)
{
	size_t first = gpu ? USAGE_COLUMNS : 0;
	size_t columns = gpu ? USAGE_GPU_COLUMNS : USAGE_COLUMNS;

	for (size_t i = 0; i < columns; i++)
		write_series(series, i, (enum usage_series)(first + i), gpu, limit, text);
}

void usage_write_series(const struct usage *usage, size_t points, struct str *text)
{
	str_append(text, "[");
	write_columns(usage->series, NULL, points, text);
	for (size_t i = 0; i < usage->gpu_count; i++)
		write_columns(usage->gpus[i].series, &usage->gpus[i], points, text);
	str_append(text, "]");
}

/* The devices are measured together: their points are of the same times, but for one that was
 * missed, whose points then count from the newest back. */
static size_t read_gpus(const struct usage *usage, size_t column, size_t limit,
			struct series_point **found)
{
	size_t count =
		usage->gpu_count > 0 ? series_read(usage->gpus[0].series, column, limit, found) : 0;
	size_t *known cleanup_free = mem_alloc_array(count, sizeof(*known));

	for (size_t i = 0; i < count; i++)
		known[i] = !isnan((*found)[i].value);
	for (size_t k = 1; k < usage->gpu_count; k++) {
		struct series_point *points cleanup_free = NULL;
		size_t others = series_read(usage->gpus[k].series, column, limit, &points);
		for (size_t i = 1; i <= count && i <= others; i++) {
			struct series_point *point = &(*found)[count - i];
			if (isnan(points[others - i].value))
				continue;
			point->value = known[count - i] ? point->value + points[others - i].value
							: points[others - i].value;
			known[count - i]++;
		}
	}
	for (size_t i = 0; i < count; i++)
		(*found)[i].value = mean((*found)[i].value, (double)known[i]);
	return count;
}

size_t usage_read(const struct usage *usage, enum usage_series name, size_t points,
		  struct series_point **found)
{
	*found = NULL;
	if (name < USAGE_COLUMNS)
		return series_read(usage->series, name, points, found);
	return read_gpus(usage, name - USAGE_COLUMNS, points, found);
}

double usage_newest(const struct usage *usage, enum usage_series name)
{
	double sum = 0;
	size_t count = 0;

	if (name < USAGE_COLUMNS)
		return series_last(usage->series, name);
	for (size_t i = 0; i < usage->gpu_count; i++) {
		double value = series_last(usage->gpus[i].series, name - USAGE_COLUMNS);
		if (isnan(value))
			continue;
		sum += value;
		count++;
	}
	return mean(sum, (double)count);
}

bool usage_write_newest(const struct usage *usage, enum usage_series name, size_t limit,
			struct str *text)
{
	struct series_point *points cleanup_free = NULL;
	size_t count = usage_read(usage, name, limit, &points);

	if (!has_values(points, count))
		return false;
	str_append(text, "{\"last\":");
	series_write_number(text, usage_newest(usage, name));
	str_append(text, ",\"v\":");
	series_write_values(text, points, count);
	str_append(text, "}");
	return true;
}

/* ---- for the AM that follows: members of a task's line of metrics.jsonl --------------------- */

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
	usage->last_distance_ms = 1; /* not known: a sample that comes late is behind a gap */
	restore_amount(resume, "process_cpu_ms", &usage->cpu_ms);
	restore_amount(resume, "process_cpu_time_ms", &usage->cpu_time_ms);
}

/* Series of one device, or of the task itself, as /v1/series has them. */
struct columns {
	const json_t *rows[USAGE_SERIES_COUNT]; /* NULL: there is none */
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
		columns->rows[series] = row;
	}
}

struct found_points {
	struct series_point *points[USAGE_COLUMNS];
	size_t counts[USAGE_COLUMNS];
	size_t most; /* all have the same times; one that has fewer points lacks the newest */
};

static void add_points(struct series *series, const struct found_points *found, size_t columns,
		       int64_t now_ms)
{
	struct series_point row[USAGE_COLUMNS];

	for (size_t i = 0; i < found->most; i++) {
		int64_t time_ms = -1;
		bool is_after_gap = false;
		for (size_t k = 0; k < columns; k++) {
			row[k] = i < found->counts[k]
					 ? found->points[k][i]
					 : (struct series_point){.time_ms = -1, .value = NAN};
			time_ms = row[k].time_ms > time_ms ? row[k].time_ms : time_ms;
			is_after_gap = is_after_gap || row[k].is_after_gap;
		}
		row[0].time_ms = time_ms;
		row[0].is_after_gap = is_after_gap;
		if (time_ms >= 0 && time_ms <= now_ms)
			series_add_point(series, row);
	}
}

static void restore_series(struct series *series, const struct columns *columns, size_t first,
			   size_t count, int64_t now_ms)
{
	struct found_points found = {0};
	struct series_facts exact;

	for (size_t k = 0; k < count; k++) {
		found.counts[k] = series_parse(columns->rows[first + k], &found.points[k]);
		found.most = found.counts[k] > found.most ? found.counts[k] : found.most;
	}
	add_points(series, &found, count, now_ms);
	for (size_t k = 0; k < count; k++) {
		free(found.points[k]);
		if (series_parse_exact(columns->rows[first + k], &exact))
			series_restore_facts(series, k, &exact);
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
		struct series *series = gpu_series(usage, (int)index);
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
