/* The present use of each running task. */
#include <math.h>

#include "am/api_internal.h"
#include "base/json.h"
#include "base/mem.h"

const struct usage *api_present_usage(const struct api *api, size_t number)
{
	const struct task *task = machine_task(api->host.machine, number);
	const struct usage *usage = api->tasks[number].usage;
	const struct program_identity of = {
		.attempt = task->attempt, .epoch = task->epoch, .restart = task->restart};

	return usage && usage_is_of(usage, &of) ? usage : NULL;
}

/* With `decimals`; NAN is not known. */
static void set_number(json_t *object, const char *name, double value, int decimals)
{
	const double grain = pow(10, decimals);

	if (isfinite(value))
		json_object_set_new(object, name, json_real(round(value * grain) / grain));
}

static void set_gpus(json_t *object, const struct metrics *metrics)
{
	int64_t percent = 0, used = 0, total = 0;

	if (metrics->gpu_count == 0)
		return;
	for (size_t i = 0; i < metrics->gpu_count; i++) {
		percent += metrics->gpus[i].utilization_percent;
		used += metrics->gpus[i].memory_used_mib;
		total += metrics->gpus[i].memory_total_mib;
	}
	json_set_int(object, "gpus", (int64_t)metrics->gpu_count);
	set_number(object, "gpu_percent", (double)percent / (double)metrics->gpu_count, 1);
	json_set_int(object, "gpu_memory_used_mib", used);
	json_set_int(object, "gpu_memory_total_mib", total);
}

static void set_steps(json_t *object, const struct usage *usage)
{
	const struct metrics *last = usage_last(usage);
	struct straggler_signs signs = {.steps_made = NAN};

	if (last->step < 0)
		return;
	json_set_int(object, "step", last->step);
	if (last->steps >= 0)
		json_set_int(object, "steps", last->steps);
	usage_signs(usage, &signs);
	if (!isnan(signs.steps_made))
		set_number(object, "steps_per_s", signs.steps_made / signs.seconds, 3);
}

json_t *api_use_to_json(const struct api *api, size_t number)
{
	const struct usage *usage = api_present_usage(api, number);

	if (!usage || machine_task(api->host.machine, number)->state != TASK_RUNNING)
		return NULL;
	json_t *object = json_object();
	set_number(object, "cpu_percent", usage_newest(usage, USAGE_CPU_PERCENT), 1);
	json_set_int(object, "memory_bytes", usage_last(usage)->pss_bytes);
	set_gpus(object, usage_last(usage));
	set_steps(object, usage);
	return object;
}

static void append_use(const struct api *api, const struct api_rows *rows, size_t number,
		       struct str *text)
{
	const struct api_task *task = &api->tasks[number];
	json_t *use cleanup_json = api_use_to_json(api, number);

	if (!use)
		return;
	double value = NAN;
	if (rows->name && task->numbers && user_series_last(task->numbers, rows->name, &value)) {
		json_object_set_new(use, "number", isnan(value) ? json_null() : json_real(value));
		if (isnan(value))
			json_object_set_new(use, "nan", json_true());
	}
	char *row cleanup_free = json_text(use), *name cleanup_free = api_task_name(api, number);
	str_append_format(text, "\"%s\":%s", name, row);
}

void api_handle_use(void *data, struct http_request *request)
{
	struct api *api = data;
	const char *name = http_request_query(request, "number");
	struct api_rows rows = {.append = append_use, .separator = ",", .rear = "}}", .name = name};

	if (api_rows_page(api, request, &rows) == 0)
		api_rows_answer(api, request, "{\"tasks\":{", &rows);
}
