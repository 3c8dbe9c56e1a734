#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "am/api_internal.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"

/* Memory for the series of all tasks together, about; a task with GPUs has those of each besides.
 */
#define USAGE_BYTES ((size_t)32 << 20)

static struct usage *usage_of(struct api_task *task)
{
	const struct series_shape shape =
		series_share(USAGE_BYTES, task->api->task_count, USAGE_COLUMNS, false);

	if (!task->usage)
		task->usage = usage_create(&shape, api_recent_ms(task->api));
	return task->usage;
}

static struct user_series *numbers_of(struct api_task *task)
{
	if (!task->numbers)
		task->numbers = user_series_create(&task->api->numbers_budget);
	return task->numbers;
}

void api_task_measure(struct api_task *task, const struct program_identity *of,
		      struct metrics *metrics)
{
	usage_add(usage_of(task), of, metrics, clock_wall_ms());
}

void api_task_measure_end(struct api_task *task, const struct program_identity *of,
			  const struct program_use *use)
{
	usage_add_end(usage_of(task), of, use, clock_wall_ms());
}

void api_task_restore_metrics(struct api_task *task, const json_t *line)
{
	int64_t attempt = 0, now_ms = clock_wall_ms();

	if (json_need_int(line, "attempt", 0, INT32_MAX, &attempt, NULL) < 0)
		return;
	task->of.attempt = (int)attempt;
	if (json_integer_value(json_object_get(line, "samples")) > 0)
		usage_restore(usage_of(task), line, now_ms);
	if (json_array_size(json_object_get(line, "user")) > 0)
		user_series_restore(numbers_of(task), line, now_ms);
}

void api_task_take_numbers(struct api_task *task, int attempt, const struct number_list *numbers)
{
	if (numbers->count == 0)
		return;
	size_t known = user_series_add(numbers_of(task), attempt, numbers);
	if (known < numbers->count)
		task->api->host.numbers(task->api->host.data, task->number, numbers, known);
}

void api_task_write_series(const struct api_task *task, size_t points, struct str *text)
{
	str_append(text, "\"series\":");
	if (task->usage)
		usage_write_series(task->usage, points, text);
	else
		str_append(text, "[]");
	str_append(text, ",\"user\":");
	if (task->numbers)
		user_series_write(task->numbers, points, text);
	else
		str_append(text, "[]");
}

void api_set_store_trouble(struct api *api, int64_t since_ms)
{
	api->store_trouble_since_ms = since_ms;
}

/* ---- Prometheus' text format -------------------------------------------------------------- */

struct family {
	const char *name, *type, *help;
	int64_t (*value)(const struct usage *usage); /* negative: not known */
};

#define FAMILY_VALUE(member)                                                                       \
	static int64_t get_##member(const struct usage *usage)                                     \
	{                                                                                          \
		return usage_last(usage)->member;                                                  \
	}
FAMILY_VALUE(rss_bytes)
FAMILY_VALUE(pss_bytes)
FAMILY_VALUE(cpu_ms)
FAMILY_VALUE(read_bytes)
FAMILY_VALUE(write_bytes)
FAMILY_VALUE(net_receive_bytes)
FAMILY_VALUE(net_send_bytes)
FAMILY_VALUE(processes)
FAMILY_VALUE(threads)
FAMILY_VALUE(step)
FAMILY_VALUE(steps)

static int64_t get_max_rss_bytes(const struct usage *usage)
{
	return usage_total(usage)->max_rss_bytes;
}

static int64_t get_longest_silence_ms(const struct usage *usage)
{
	return usage_total(usage)->longest_silence_ms;
}

static int64_t get_late_beats(const struct usage *usage)
{
	return usage_total(usage)->late_beats;
}

static const struct family families[] = {
	{"tony_task_rss_bytes", "gauge", "Resident memory of the task's processes", get_rss_bytes},
	{"tony_task_max_rss_bytes", "gauge", "The most resident memory seen", get_max_rss_bytes},
	{"tony_task_pss_bytes", "gauge", "Memory with shared pages counted in proportion",
	 get_pss_bytes},
	{"tony_task_cpu_milliseconds", "gauge", "Processor time of the live processes", get_cpu_ms},
	{"tony_task_read_bytes", "gauge", "Bytes read from storage", get_read_bytes},
	{"tony_task_write_bytes", "gauge", "Bytes written to storage", get_write_bytes},
	{"tony_task_net_receive_bytes", "gauge", "Bytes received over TCP", get_net_receive_bytes},
	{"tony_task_net_send_bytes", "gauge", "Bytes sent over TCP", get_net_send_bytes},
	{"tony_task_processes", "gauge", "Processes of the task", get_processes},
	{"tony_task_threads", "gauge", "Threads of the task", get_threads},
	{"tony_task_step", "gauge", "The step that its program says it has come to", get_step},
	{"tony_task_steps", "gauge", "How many it says there will be", get_steps},
	{"tony_task_longest_silence_milliseconds", "gauge",
	 "The longest that its executor said nothing", get_longest_silence_ms},
	{"tony_task_late_beats", "counter", "Heartbeats that came after two intervals",
	 get_late_beats},
};

/* Ids and names of tasks hold nothing that a label would have to escape. */
static void append_value(const struct api *api, const struct family *family, size_t task,
			 struct str *text)
{
	const struct usage *usage = api->tasks[task].usage;
	int64_t value = usage ? family->value(usage) : -1;

	if (task == 0)
		str_append_format(text, "# HELP %s %s\n# TYPE %s %s\n", family->name, family->help,
				  family->name, family->type);
	if (value < 0)
		return;
	char *name cleanup_free = api_task_name(api, task);
	str_append_format(text, "%s{job=\"%s\",task=\"%s\"} %" PRId64 "\n", family->name,
			  api->host.job->id, name, value);
}

struct gpu_family {
	const char *name, *help;
	int64_t (*value)(const struct metrics_gpu *gpu); /* negative: not known */
};

static int64_t get_utilization(const struct metrics_gpu *gpu)
{
	return gpu->utilization_percent;
}

static int64_t get_memory_used(const struct metrics_gpu *gpu)
{
	return gpu->memory_used_mib << 20;
}

static int64_t get_memory_total(const struct metrics_gpu *gpu)
{
	return gpu->memory_total_mib << 20;
}

static int64_t get_power(const struct metrics_gpu *gpu)
{
	return gpu->power_watts;
}

static const struct gpu_family gpu_families[] = {
	{"tony_task_gpu_utilization_percent", "Use of the device", get_utilization},
	{"tony_task_gpu_memory_used_bytes", "Memory of the device in use", get_memory_used},
	{"tony_task_gpu_memory_total_bytes", "Memory of the device", get_memory_total},
	{"tony_task_gpu_power_watts", "Power that the device draws", get_power},
};

static void append_gpu_values(const struct api *api, const struct gpu_family *family, size_t task,
			      struct str *text)
{
	const struct usage *usage = api->tasks[task].usage;

	if (task == 0)
		str_append_format(text, "# HELP %s %s\n# TYPE %s gauge\n", family->name,
				  family->help, family->name);
	if (!usage)
		return;
	const struct metrics *last = usage_last(usage);
	char *name cleanup_free = api_task_name(api, task);
	for (size_t i = 0; i < last->gpu_count; i++) {
		int64_t value = family->value(&last->gpus[i]);
		if (value >= 0)
			str_append_format(
				text, "%s{job=\"%s\",task=\"%s\",gpu=\"%d\"} %" PRId64 "\n",
				family->name, api->host.job->id, name, last->gpus[i].index, value);
	}
}

static int64_t get_waiting_files(const struct storing *storing)
{
	return storing->files;
}

static int64_t get_waiting_bytes(const struct storing *storing)
{
	return storing->bytes;
}

static int64_t get_store_wait(const struct storing *storing)
{
	return storing->wait_ms;
}

static int64_t get_store_trouble(const struct storing *storing)
{
	return storing->trouble_ms;
}

static const struct store_family {
	const char *name, *help;
	int64_t (*value)(const struct storing *storing);
} store_families[] = {
	{"tony_task_store_waiting_files", "Checkpoints and results that the store lacks",
	 get_waiting_files},
	{"tony_task_store_waiting_bytes", "Their bytes", get_waiting_bytes},
	{"tony_task_store_wait_milliseconds",
	 "How long none of them was stored; 0: the store has them all", get_store_wait},
	{"tony_task_store_trouble_milliseconds", "How long storing has failed; 0: it does not",
	 get_store_trouble},
};

static void append_storing(const struct api *api, const struct store_family *family, size_t task,
			   struct str *text)
{
	const struct api_task *of = &api->tasks[task];

	if (task == 0)
		str_append_format(text, "# HELP %s %s\n# TYPE %s gauge\n", family->name,
				  family->help, family->name);
	if (!of->has_storing || machine_task(api->host.machine, task)->state != TASK_RUNNING)
		return;
	char *name cleanup_free = api_task_name(api, task);
	str_append_format(text, "%s{job=\"%s\",task=\"%s\"} %" PRId64 "\n", family->name,
			  api->host.job->id, name, family->value(&of->storing));
}

enum {
	GPU_FAMILIES_END = array_length(families) + array_length(gpu_families),
	STORE_FAMILIES_END = GPU_FAMILIES_END + array_length(store_families),
	ALL_FAMILIES = STORE_FAMILIES_END + 1,
};

static void append_straggler(const struct api *api, size_t task, struct str *text)
{
	if (task == 0)
		str_append(text,
			   "# HELP tony_task_straggler Whether it is far behind its siblings\n"
			   "# TYPE tony_task_straggler gauge\n");
	if (machine_task(api->host.machine, task)->state != TASK_RUNNING)
		return;
	char *name cleanup_free = api_task_name(api, task);
	str_append_format(text, "tony_task_straggler{job=\"%s\",task=\"%s\"} %d\n",
			  api->host.job->id, name,
			  api->work.stragglers[task].kind != STRAGGLER_NONE);
}

/* A family after the other, each of all tasks. */
static void append_line(const struct api *api, const struct api_rows *rows, size_t number,
			struct str *text)
{
	size_t family = number / api->task_count, task = number % api->task_count;

	if (family < array_length(families))
		append_value(api, &families[family], task, text);
	else if (family < GPU_FAMILIES_END)
		append_gpu_values(api, &gpu_families[family - array_length(families)], task, text);
	else if (family < STORE_FAMILIES_END)
		append_storing(api, &store_families[family - GPU_FAMILIES_END], task, text);
	else
		append_straggler(api, task, text);
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
	int64_t since_ms = api->store_trouble_since_ms;
	str_append_format(text,
			  "# HELP tony_job_store_trouble_milliseconds How long what is kept of the "
			  "job cannot be written; 0: it can\n"
			  "# TYPE tony_job_store_trouble_milliseconds gauge\n"
			  "tony_job_store_trouble_milliseconds{job=\"%s\"} %" PRId64 "\n",
			  api->host.job->id, since_ms > 0 ? clock_wall_ms() - since_ms : 0);
	double done = api_done(api);
	if (!isnan(done))
		str_append_format(text,
				  "# HELP tony_job_done_ratio How much of its steps it has made\n"
				  "# TYPE tony_job_done_ratio gauge\n"
				  "tony_job_done_ratio{job=\"%s\"} %.4f\n",
				  api->host.job->id, done);
}

static void answer_text(struct api *api, struct http_request *request)
{
	const struct api_rows rows = {
		.content_type = "text/plain; version=0.0.4; charset=utf-8",
		.end = ALL_FAMILIES * api->task_count,
		.append = append_line,
		.separator = "",
		.rear = "",
	};
	struct str front cleanup_str = {0};

	api_find_stragglers(api);
	add_job_series(&front, api);
	api_rows_answer(api, request, front.text, &rows);
}

static void append_usage(const struct api *api, const struct api_rows *rows, size_t number,
			 struct str *text)
{
	if (!api->tasks[number].usage)
		return;
	json_t *usage cleanup_json = usage_to_json(api->tasks[number].usage);
	char *row cleanup_free = json_text(usage), *name cleanup_free = api_task_name(api, number);
	str_append_format(text, "\"%s\":%s", name, row);
}

void api_handle_metrics(void *data, struct http_request *request)
{
	struct api *api = data;
	const char *accept = http_request_header(request, "Accept");
	const struct api_rows rows = {
		.end = api->task_count, .append = append_usage, .separator = ",", .rear = "}}"};

	if (accept && strstr(accept, "text/plain"))
		answer_text(api, request);
	else
		api_rows_answer(api, request, "{\"tasks\":{", &rows);
}
