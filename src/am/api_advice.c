/* What may be said of the job so far (src/advise). */
#include "advise/advise.h"
#include "am/api_internal.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"

enum {
	POINTS = 32,		 /* of each series */
	TASKS_WITH_SERIES = 500, /* a job with more of them is looked at by its totals: some ms */
	FRESH_MS = 5000,	 /* an answer stays so long, whoever asks */
};

static void add_series(struct advise_uses *uses, const struct api *api, size_t task)
{
	struct str text cleanup_str = {0};

	api_append_metrics(api, task, POINTS, &text);
	json_t *line cleanup_json = json_parse(text.text, text.length, NULL);
	if (line)
		advise_uses_add_json(uses, api->host.job, line, NULL);
}

/* The same without its GPUs and steps. */
static void add_total(struct advise_uses *uses, const struct api_task *task)
{
	const struct usage_total *total = usage_total(task->usage);
	struct series_point *points cleanup_free = NULL;
	size_t count = usage_read(task->usage, USAGE_RSS_BYTES, 2, &points);
	struct advise_use *use = advise_uses_add(uses, task->number, task->of.attempt);

	if (count > 0) {
		use->from_ms = points[0].time_ms;
		use->to_ms = points[count - 1].time_ms;
	}
	use->samples = total->samples;
	use->max_rss_bytes = total->max_rss_bytes;
	use->max_pss_bytes = total->max_pss_bytes;
	use->longest_silence_ms = total->longest_silence_ms;
	use->late_beats = total->late_beats;
	if (total->cpu_time_ms > 0)
		use->average_cores = use->high_cores = total->cpu_ms / total->cpu_time_ms;
}

static void add_uses(struct advise_uses *uses, const struct api *api)
{
	for (size_t i = 0; i < api->task_count; i++)
		if (api->task_count > TASKS_WITH_SERIES && api->tasks[i].usage)
			add_total(uses, &api->tasks[i]);
		else if (api->tasks[i].usage || api->tasks[i].numbers)
			add_series(uses, api, i);
}

static json_t *make(const struct api *api)
{
	struct advice_list list cleanup_advice_list = {0};
	struct advise_input input = {.view = api->view.job, .now_ms = clock_wall_ms()};

	add_uses(&input.uses, api);
	advise(&input, &list);
	advise_uses_finish(&input.uses);
	return advice_list_to_json(&list);
}

static void answer_advice(struct api *api, struct http_request *request)
{
	if (!api->advice.told || clock_monotonic_ms() - api->advice.told_at >= FRESH_MS) {
		json_decref(api->advice.told);
		api->advice.told = make(api);
		api->advice.told_at = clock_monotonic_ms();
	}
	http_answer_json(request, 200, json_incref(api->advice.told));
}

void api_handle_advice(void *data, struct http_request *request)
{
	api_view_look(data, request, answer_advice);
}
