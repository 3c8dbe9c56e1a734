/* How far the job's programs are, and which tasks are far behind their siblings. */
#include <math.h>
#include <string.h>

#include "am/api_internal.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"

enum {
	RECENT_SAMPLES = 12, /* "recently" is over so many, and up to twice as many */
	FRESH_MS = 5000,     /* so long at most nobody looks again, whoever asks */
	DONE_GRAIN = 10000,
};

int64_t api_recent_ms(const struct api *api)
{
	const int64_t interval_ms = api->host.job->metrics_interval_ms;

	return RECENT_SAMPLES * (interval_ms > 0 ? interval_ms : FRESH_MS);
}

/* ---- how far ------------------------------------------------------------------------------ */

struct work {
	double sum; /* of what each tracked task has done, 0 to 1 */
	size_t tracked;
	int64_t least_step, most_step, steps; /* -1: nobody tells */
};

/* What it has done, as far as it says so. */
static double add_steps(struct work *work, const struct usage *usage)
{
	const struct metrics *last = usage_last(usage);

	if (last->step < 0)
		return 0;
	if (work->least_step < 0 || last->step < work->least_step)
		work->least_step = last->step;
	if (last->step > work->most_step)
		work->most_step = last->step;
	if (last->steps > work->steps)
		work->steps = last->steps;
	if (last->steps <= 0)
		return 0;
	return last->step < last->steps ? (double)last->step / (double)last->steps : 1;
}

static struct work work_of(const struct api *api)
{
	struct work work = {.least_step = -1, .most_step = -1, .steps = -1};

	for (size_t i = 0; i < api->task_count; i++) {
		const struct task *task = machine_task(api->host.machine, i);
		const bool is_done = task->state == TASK_SUCCEEDED;
		const struct usage *usage =
			is_done || task->state == TASK_RUNNING ? api_present_usage(api, i) : NULL;
		if (api->host.job->types[task->type].role != JOB_ROLE_TRACKED ||
		    machine_task_is_dormant(api->host.machine, i))
			continue;
		const double done = usage ? add_steps(&work, usage) : 0;
		work.sum += is_done ? 1 : done;
		work.tracked++;
	}
	return work;
}

static double done_of(const struct work *work)
{
	return work->tracked > 0 ? work->sum / (double)work->tracked : 0;
}

double api_progress(const struct api *api)
{
	const struct work work = work_of(api);

	return done_of(&work);
}

double api_done(const struct api *api)
{
	const struct work work = work_of(api);

	return work.steps > 0 ? done_of(&work) : NAN;
}

static json_t *work_to_json(const struct work *work)
{
	json_t *object = json_object();

	if (work->steps > 0) {
		json_object_set_new(object, "done",
				    json_real(round(done_of(work) * DONE_GRAIN) / DONE_GRAIN));
		json_set_int(object, "steps", work->steps);
	}
	if (work->least_step >= 0) {
		json_set_int(object, "least_step", work->least_step);
		json_set_int(object, "most_step", work->most_step);
	}
	return object;
}

/* ---- who is behind ------------------------------------------------------------------------ */

static struct straggler_signs signs_of(const struct api *api, size_t number)
{
	const enum task_state state = machine_task(api->host.machine, number)->state;
	const struct usage *usage = api_present_usage(api, number);
	struct straggler_signs signs = {state == TASK_RUNNING, NAN, NAN, NAN, NAN, NAN, NAN};

	if (usage && (state == TASK_RUNNING || state == TASK_SUCCEEDED))
		usage_signs(usage, &signs);
	if (state == TASK_SUCCEEDED) /* it stays there */
		signs = (struct straggler_signs){false, signs.step, signs.step, NAN, NAN, NAN, NAN};
	return signs;
}

static size_t end_of_type(const struct api *api, size_t begin)
{
	const size_t type = machine_task(api->host.machine, begin)->type;
	size_t end = begin;

	while (end < api->task_count && machine_task(api->host.machine, end)->type == type)
		end++;
	return end;
}

static void look(struct api *api)
{
	struct straggler_signs *signs cleanup_free =
		mem_alloc_array(api->task_count, sizeof(*signs));

	for (size_t i = 0; i < api->task_count; i++)
		signs[i] = signs_of(api, i);
	for (size_t begin = 0, end; begin < api->task_count; begin = end) {
		end = end_of_type(api, begin);
		straggler_look(&signs[begin], end - begin, &api->work.stragglers[begin]);
	}
}

void api_find_stragglers(struct api *api)
{
	const int64_t now = clock_monotonic_ms(), interval_ms = api->host.job->metrics_interval_ms;
	const int64_t fresh_ms = interval_ms < FRESH_MS ? interval_ms : FRESH_MS;

	if (api->work.stragglers && now - api->work.found_at < fresh_ms)
		return;
	if (!api->work.stragglers)
		api->work.stragglers =
			mem_alloc_array(api->task_count, sizeof(*api->work.stragglers));
	look(api);
	api->work.found_at = now;
}

json_t *api_straggler_to_json(const struct api *api, size_t number)
{
	const struct straggler *straggler = &api->work.stragglers[number];

	/* It may have ended since. */
	if (straggler->kind == STRAGGLER_NONE ||
	    machine_task(api->host.machine, number)->state != TASK_RUNNING)
		return NULL;
	json_t *object = json_object();
	char *name cleanup_free = api_task_name(api, number);
	char *text cleanup_free = straggler_text(straggler, name);
	json_set_text(object, "by", straggler_kind_name(straggler->kind));
	json_object_set_new(object, "own", json_real(straggler->own));
	json_object_set_new(object, "others", json_real(straggler->others));
	json_set_text(object, "text", text);
	return object;
}

static json_t *stragglers_to_json(const struct api *api)
{
	json_t *object = json_object();

	for (size_t i = 0; i < api->task_count; i++) {
		json_t *straggler = api_straggler_to_json(api, i);
		char *name cleanup_free = straggler ? api_task_name(api, i) : NULL;
		if (straggler)
			json_object_set_new(object, name, straggler);
	}
	return object;
}

void api_handle_work(void *data, struct http_request *request)
{
	struct api *api = data;
	const struct work work = work_of(api);
	json_t *answer = work_to_json(&work);

	api_find_stragglers(api);
	json_object_set_new(answer, "stragglers", stragglers_to_json(api));
	json_t *splits cleanup_json = api_splits_to_json(api);
	if (json_array_size(splits) > 0)
		json_object_set(answer, "splits", splits);
	http_answer_json(request, 200, answer);
}

/* ---- the use by all of them ---------------------------------------------------------------- */

static double number_of(const json_t *object, const char *name)
{
	return json_number_value(json_object_get(object, name));
}

void api_measure_use(const struct api *api, struct api_use *use)
{
	double gpus = 0, percent = 0;

	*use = (struct api_use){.done = api_done(api)};
	for (size_t i = 0; i < api->task_count; i++) {
		json_t *task cleanup_json = api_use_to_json(api, i);
		use->cpu_cores += number_of(task, "cpu_percent") / 100;
		use->memory_mib += number_of(task, "memory_bytes") / (1 << 20);
		use->gpu_memory_mib += number_of(task, "gpu_memory_used_mib");
		percent += number_of(task, "gpu_percent") * number_of(task, "gpus");
		gpus += number_of(task, "gpus");
	}
	use->gpu_percent = gpus > 0 ? percent / gpus : NAN;
	if (gpus == 0)
		use->gpu_memory_mib = NAN;
}
