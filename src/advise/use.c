#include "advise/use.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advise/rules.h"
#include "base/json.h"
#include "base/mem.h"
#include "job/series_text.h"

enum { GPUS_MAX = 1024, CORES_MAX = 100000, NANS_MIN = 3 };
#define BYTES_MAX   (INT64_C(1) << 50)
#define STEPS_MAX   (INT64_C(1) << 50)
#define TIME_MAX_MS (INT64_C(1) << 43) /* in the year 2248 */

void advise_uses_finish(struct advise_uses *uses)
{
	for (size_t i = 0; i < uses->count; i++) {
		free(uses->items[i].gpus);
		free(uses->items[i].stretches);
		free(uses->items[i].nan_name);
		free(uses->items[i].nan_words);
	}
	free(uses->items);
	*uses = (struct advise_uses){0};
}

static bool is_behind(const struct advise_use *use, size_t task, int attempt)
{
	return use->task > task || (use->task == task && use->attempt > attempt);
}

/* Where it has to stand; lines mostly come in order, so that this is the end. */
static size_t place_of(const struct advise_uses *uses, size_t task, int attempt)
{
	size_t low = 0, high = uses->count;

	if (high > 0 && !is_behind(&uses->items[high - 1], task, attempt))
		return high;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (is_behind(&uses->items[middle], task, attempt))
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

struct advise_use *advise_uses_add(struct advise_uses *uses, size_t task, int attempt)
{
	size_t place = place_of(uses, task, attempt);

	uses->items = mem_realloc_array(uses->items, uses->count + 1, sizeof(*uses->items));
	struct advise_use *use = &uses->items[place];
	memmove(use + 1, use, (uses->count++ - place) * sizeof(*use));
	*use = (struct advise_use){
		.task = task,
		.attempt = attempt,
		.max_rss_bytes = -1,
		.max_pss_bytes = -1,
		.longest_silence_ms = -1,
		.late_beats = -1,
		.average_cores = -1,
		.high_cores = -1,
		.read_rate = -1,
		.network_rate = -1,
		.input_wait_percent = -1,
	};
	return use;
}

/* ---- one series --------------------------------------------------------------------------- */

/* What the points of one come to. */
struct figures {
	double mean, high, most; /* `high`: the 95th percentile */
	size_t count;		 /* 0: there are none, and no figures */
};

static struct figures figures_of(const json_t *series)
{
	struct advise_numbers numbers cleanup_numbers = {0};
	struct figures figures = {0};
	struct series_facts facts;
	double sum = 0, mean;
	size_t i;
	json_t *value;

	json_array_foreach(json_object_get(series, "v"), i, value)
	{
		if (!json_is_number(value) || !(json_number_value(value) >= 0))
			continue;
		advise_numbers_add(&numbers, json_number_value(value));
		sum += json_number_value(value);
	}
	series_parse_facts(series, &facts, &mean);
	figures.most = fmax(0, facts.most.value);
	figures.count = numbers.count;
	if (numbers.count > 0) {
		figures.mean = sum / (double)numbers.count;
		figures.high = advise_percentile(&numbers, 95);
	}
	return figures;
}

static struct advise_gpu *gpu_at(struct advise_use *use, int index)
{
	for (size_t i = 0; i < use->gpu_count; i++)
		if (use->gpus[i].index == index)
			return &use->gpus[i];
	use->gpus = mem_realloc_array(use->gpus, use->gpu_count + 1, sizeof(*use->gpus));
	use->gpus[use->gpu_count] = (struct advise_gpu){index, -1, -1, -1, -1};
	return &use->gpus[use->gpu_count++];
}

static void take_gpu_series(struct advise_use *use, const char *name, int index,
			    const struct figures *figures)
{
	if (strcmp(name, "gpu_utilization_percent") == 0) {
		gpu_at(use, index)->average_percent = figures->mean;
		gpu_at(use, index)->high_percent = figures->high;
	} else if (strcmp(name, "gpu_memory_used_bytes") == 0) {
		gpu_at(use, index)->used_bytes = figures->most;
	} else if (strcmp(name, "gpu_memory_total_bytes") == 0) {
		gpu_at(use, index)->memory_bytes = figures->most;
	}
}

static void take_task_series(struct advise_use *use, const char *name,
			     const struct figures *figures)
{
	if (strcmp(name, "cpu_percent") == 0) {
		use->average_cores = fmin(figures->mean / 100, CORES_MAX);
		use->high_cores = fmin(figures->high / 100, CORES_MAX);
	} else if (strcmp(name, "rss_bytes") == 0) {
		use->max_rss_bytes = (int64_t)fmin(figures->most, (double)BYTES_MAX);
	} else if (strcmp(name, "pss_bytes") == 0) {
		use->max_pss_bytes = (int64_t)fmin(figures->most, (double)BYTES_MAX);
	} else if (strcmp(name, "read_bytes_per_s") == 0) {
		use->read_rate = figures->mean;
	} else if (strcmp(name, "net_receive_bytes_per_s") == 0 ||
		   strcmp(name, "net_send_bytes_per_s") == 0) {
		use->network_rate = fmax(use->network_rate, 0) + figures->mean;
	}
}

/* Points may be means of many measurements: how many there were is told beside them. */
static void take_series(struct advise_use *use, const json_t *series)
{
	const char *name = json_string_value(json_object_get(series, "name"));
	const json_t *gpu = json_object_get(series, "gpu");
	const json_t *times = json_object_get(series, "t");
	struct figures figures = figures_of(series);
	size_t count = json_array_size(times);

	if (!name || figures.count == 0 || count == 0)
		return;
	int64_t from_ms = json_integer_value(json_array_get(times, 0));
	int64_t to_ms = json_integer_value(json_array_get(times, count - 1));
	if (from_ms <= 0 || to_ms < from_ms || to_ms > TIME_MAX_MS)
		return;
	if (use->from_ms == 0 || from_ms < use->from_ms)
		use->from_ms = from_ms;
	if (to_ms > use->to_ms)
		use->to_ms = to_ms;
	if ((int64_t)figures.count > use->samples)
		use->samples = (int64_t)figures.count;
	if (!json_is_integer(gpu))
		take_task_series(use, name, &figures);
	else if (json_integer_value(gpu) >= 0 && json_integer_value(gpu) < GPUS_MAX)
		take_gpu_series(use, name, (int)json_integer_value(gpu), &figures);
}

/* ---- the program's steps ------------------------------------------------------------------ */

static void add_step(struct advise_use *use, int64_t time_ms, int64_t step)
{
	struct advise_stretch *last =
		use->stretch_count > 0 ? &use->stretches[use->stretch_count - 1] : NULL;

	if (last && time_ms < last->last_ms)
		return;
	if (last && step >= last->last_step) {
		last->last_ms = time_ms;
		last->last_step = step;
		last->points++;
		return;
	}
	use->stretches =
		mem_realloc_array(use->stretches, use->stretch_count + 1, sizeof(*use->stretches));
	use->stretches[use->stretch_count++] =
		(struct advise_stretch){time_ms, time_ms, step, step, 1};
}

/* Of all that the program told, what it told most often. */
static const json_t *steps_of(const json_t *line)
{
	const json_t *most = NULL;
	size_t i;
	json_t *series;

	json_array_foreach(json_object_get(line, "user"), i, series)
	{
		if (json_array_size(json_object_get(series, "step")) >
		    json_array_size(json_object_get(most, "step")))
			most = series;
	}
	return most;
}

static void take_steps(struct advise_use *use, const json_t *series)
{
	const json_t *times = json_object_get(series, "t");
	size_t i;
	json_t *step;

	json_array_foreach(json_object_get(series, "step"), i, step)
	{
		int64_t time_ms = json_integer_value(json_array_get(times, i));
		int64_t number = json_is_integer(step) ? json_integer_value(step) : -1;
		if (number >= 0 && number <= STEPS_MAX && time_ms > 0 && time_ms <= TIME_MAX_MS)
			add_step(use, time_ms, number);
	}
}

/* tony.data tells it under this name. */
static void take_input_wait(struct advise_use *use, const json_t *line)
{
	size_t i;
	json_t *series;

	json_array_foreach(json_object_get(line, "user"), i, series)
	{
		const char *name = json_string_value(json_object_get(series, "name"));
		struct figures figures = figures_of(series);
		if (name && strcmp(name, "input_wait_percent") == 0 && figures.count > 0)
			use->input_wait_percent = fmin(figures.mean, 100);
	}
}

/* One NaN, or a number that never was one, is no divergence. */
static bool has_become_nan(const json_t *series, struct series_facts *facts)
{
	double mean;

	return series_parse_facts(series, facts, &mean) > 0 && facts->nan_since.time_ms > 0 &&
	       facts->nans >= NANS_MIN;
}

/* The first that has. */
static void take_nan(struct advise_use *use, const json_t *line)
{
	struct series_facts facts;
	size_t i;
	json_t *series;

	json_array_foreach(json_object_get(line, "user"), i, series)
	{
		const char *name = json_string_value(json_object_get(series, "name"));
		if (!name || use->nan_name || !has_become_nan(series, &facts))
			continue;
		use->nan_name = str_printable(name, strlen(name));
		use->nan_words = series_nan_words(&facts);
	}
}

/* ---- a line ------------------------------------------------------------------------------- */

/* What the series have only as means. */
static void take_total(const json_t *line, const char *name, int64_t *value)
{
	const json_t *total = json_object_get(line, name);

	if (json_is_integer(total) && json_integer_value(total) > *value)
		*value = json_integer_value(total) < BYTES_MAX ? json_integer_value(total)
							       : BYTES_MAX;
}

int advise_uses_add_json(struct advise_uses *uses, const struct job *job, const json_t *line,
			 struct err *err)
{
	char *name cleanup_free = NULL;
	int64_t attempt = 0;
	size_t i;
	json_t *series;

	if (json_need_text(line, "task", &name, err) < 0 ||
	    json_need_int(line, "attempt", 1, INT32_MAX, &attempt, err) < 0)
		return -1;
	int64_t task = job_find_task(job, name);
	if (task < 0)
		return err_set(err, ERR_INPUT, "task: the job has no \"%.128s\"", name);
	struct advise_use *use = advise_uses_add(uses, (size_t)task, (int)attempt);
	json_array_foreach(json_object_get(line, "series"), i, series)
	{
		take_series(use, series);
	}
	take_total(line, "samples", &use->samples);
	take_total(line, "max_rss_bytes", &use->max_rss_bytes);
	take_total(line, "max_pss_bytes", &use->max_pss_bytes);
	take_total(line, "longest_silence_ms", &use->longest_silence_ms);
	take_total(line, "late_beats", &use->late_beats);
	take_input_wait(use, line);
	take_nan(use, line);
	if (steps_of(line))
		take_steps(use, steps_of(line));
	return 0;
}

static int read_line(struct advise_uses *uses, const struct job *job, const char *bytes,
		     size_t length)
{
	json_t *line cleanup_json = json_parse(bytes, length, NULL);

	return line ? advise_uses_add_json(uses, job, line, NULL) : -1;
}

size_t advise_uses_read(struct advise_uses *uses, const struct job *job, const char *bytes,
			size_t length)
{
	const char *end = bytes + length;
	size_t bad = 0;

	while (bytes < end) {
		const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));
		size_t line = newline ? (size_t)(newline - bytes) : (size_t)(end - bytes);
		if (line > 0 && read_line(uses, job, bytes, line) < 0)
			bad++;
		bytes += line + (newline ? 1 : 0);
	}
	return bad;
}
