#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "am/api_internal.h"
#include "base/json.h"
#include "base/mem.h"

void api_metrics_add(struct api_task *task, struct message_metrics *metrics)
{
	if (!task->metrics)
		task->metrics = mem_alloc(sizeof(*task->metrics));
	struct api_metrics *all = task->metrics;
	message_metrics_finish(&all->last);
	all->last = *metrics;
	*metrics = (struct message_metrics){0};
	if (all->last.rss_bytes > all->max_rss_bytes)
		all->max_rss_bytes = all->last.rss_bytes;
	if (all->last.pss_bytes > all->max_pss_bytes)
		all->max_pss_bytes = all->last.pss_bytes;
	all->rss_sum += (double)all->last.rss_bytes;
	all->samples++;
}

void api_metrics_free(struct api_metrics *metrics)
{
	if (!metrics)
		return;
	message_metrics_finish(&metrics->last);
	free(metrics);
}

static int64_t average_rss(const struct api_metrics *metrics)
{
	return (int64_t)(metrics->rss_sum / (double)metrics->samples);
}

json_t *api_metrics_to_json(const struct api_metrics *metrics)
{
	json_t *object = message_metrics_to_json(&metrics->last);

	json_set_int(object, "max_rss_bytes", metrics->max_rss_bytes);
	json_set_int(object, "max_pss_bytes", metrics->max_pss_bytes);
	json_set_int(object, "average_rss_bytes", average_rss(metrics));
	json_set_int(object, "samples", metrics->samples);
	return object;
}

static char *task_name(const struct api *api, size_t number)
{
	const struct task *task = machine_task(api->host.machine, number);

	return job_task_name(api->host.job, task->type, task->index);
}

/* ---- Prometheus' text format -------------------------------------------------------------- */

struct series {
	const char *name, *type, *help;
	int64_t (*value)(const struct api_metrics *metrics);
};

#define SERIES_VALUE(member)                                                                       \
	static int64_t get_##member(const struct api_metrics *metrics)                             \
	{                                                                                          \
		return metrics->last.member;                                                       \
	}
SERIES_VALUE(rss_bytes)
SERIES_VALUE(pss_bytes)
SERIES_VALUE(cpu_ms)
SERIES_VALUE(read_bytes)
SERIES_VALUE(write_bytes)
SERIES_VALUE(processes)
SERIES_VALUE(threads)

static int64_t get_max_rss_bytes(const struct api_metrics *metrics)
{
	return metrics->max_rss_bytes;
}

static const struct series all_series[] = {
	{"tony_task_rss_bytes", "gauge", "Resident memory of the task's processes", get_rss_bytes},
	{"tony_task_max_rss_bytes", "gauge", "The most resident memory seen", get_max_rss_bytes},
	{"tony_task_pss_bytes", "gauge", "Memory with shared pages counted in proportion",
	 get_pss_bytes},
	{"tony_task_cpu_milliseconds", "gauge", "Processor time of the live processes", get_cpu_ms},
	{"tony_task_read_bytes", "gauge", "Bytes read from storage", get_read_bytes},
	{"tony_task_write_bytes", "gauge", "Bytes written to storage", get_write_bytes},
	{"tony_task_processes", "gauge", "Processes of the task", get_processes},
	{"tony_task_threads", "gauge", "Threads of the task", get_threads},
};

/* Ids and names of tasks hold nothing that a label would have to escape. */
static void add_task_series(struct str *text, const struct api *api, const struct series *series)
{
	str_append_format(text, "# HELP %s %s\n# TYPE %s %s\n", series->name, series->help,
			  series->name, series->type);
	for (size_t i = 0; i < api->task_count; i++) {
		if (!api->tasks[i].metrics)
			continue;
		char *name cleanup_free = task_name(api, i);
		str_append_format(text, "%s{job=\"%s\",task=\"%s\"} %" PRId64 "\n", series->name,
				  api->host.job->id, name, series->value(api->tasks[i].metrics));
	}
}

static void add_gpu_series(struct str *text, const struct api *api)
{
	str_append(text, "# HELP tony_task_gpu_utilization_percent Use of the device\n"
			 "# TYPE tony_task_gpu_utilization_percent gauge\n");
	for (size_t i = 0; i < api->task_count; i++) {
		const struct api_metrics *metrics = api->tasks[i].metrics;
		for (size_t k = 0; metrics && k < metrics->last.gpu_count; k++) {
			char *name cleanup_free = task_name(api, i);
			str_append_format(
				text,
				"tony_task_gpu_utilization_percent{job=\"%s\",task=\"%s\",gpu=\"%d"
				"\"} %d\n",
				api->host.job->id, name, metrics->last.gpus[k].index,
				metrics->last.gpus[k].utilization_percent);
		}
	}
}

static void add_job_series(struct str *text, const struct api *api)
{
	struct machine_status status;

	machine_status(api->host.machine, &status);
	str_append(text, "# HELP tony_job_tasks Tasks by state\n# TYPE tony_job_tasks gauge\n");
	for (int state = 0; state < TASK_STATE_COUNT; state++)
		str_append_format(text, "tony_job_tasks{job=\"%s\",state=\"%s\"} %zu\n",
				  api->host.job->id, task_state_name((enum task_state)state),
				  status.tasks_in[state]);
	str_append_format(text,
			  "# HELP tony_job_epoch Formations of the cluster\n"
			  "# TYPE tony_job_epoch counter\ntony_job_epoch{job=\"%s\"} %d\n",
			  api->host.job->id, status.epoch);
}

static void answer_text(const struct api *api, struct http_request *request)
{
	struct str text cleanup_str = {0};

	add_job_series(&text, api);
	for (size_t i = 0; i < array_length(all_series); i++)
		add_task_series(&text, api, &all_series[i]);
	add_gpu_series(&text, api);
	http_answer_bytes(request, 200, "text/plain; version=0.0.4; charset=utf-8", text.text,
			  text.length);
}

void api_handle_metrics(void *data, struct http_request *request)
{
	struct api *api = data;
	const char *accept = http_request_header(request, "Accept");

	if (accept && strstr(accept, "text/plain")) {
		answer_text(api, request);
		return;
	}
	json_t *tasks = json_object();
	for (size_t i = 0; i < api->task_count; i++) {
		if (!api->tasks[i].metrics)
			continue;
		char *name cleanup_free = task_name(api, i);
		json_object_set_new(tasks, name, api_metrics_to_json(api->tasks[i].metrics));
	}
	json_t *answer = json_object();
	json_object_set_new(answer, "tasks", tasks);
	http_answer_json(request, 200, answer);
}
