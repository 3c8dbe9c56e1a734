#include "am/message.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "job/cause_json.h"

enum {
	HOST_MAX = 255,
	PATH_CAP = 4096,
	REASON_CAP = 1024,
	LOSS_TEXT_CAP = 4096,
	PID_MAX = 4194304, /* the kernel's PID_MAX_LIMIT */
	NUMBER_MAX = 1000000000,
	POWER_MAX = 1000000,
};
#define AMOUNT_MAX ((int64_t)1 << 60)

static json_t *parse_object(const char *bytes, size_t length, struct err *err)
{
	json_t *body = json_parse(bytes, length, err);

	if (body && !json_is_object(body)) {
		err_set(err, ERR_INPUT, "the body is not an object");
		json_decref(body);
		return NULL;
	}
	return body;
}

static int need_int(const json_t *object, const char *name, int min, int max, int *value,
		    struct err *err)
{
	int64_t number;

	if (json_need_int(object, name, min, max, &number, err) < 0)
		return -1;
	*value = (int)number;
	return 0;
}

static int read_int(const json_t *object, const char *name, int min, int max, int *value,
		    struct err *err)
{
	return json_object_get(object, name) ? need_int(object, name, min, max, value, err) : 0;
}

/* ---- metrics ------------------------------------------------------------------------------ */

static int read_gpu(const json_t *object, struct message_gpu *gpu, struct err *err)
{
	gpu->power_watts = -1;
	if (need_int(object, "index", 0, MESSAGE_GPU_INDEX_MAX, &gpu->index, err) < 0 ||
	    read_int(object, "utilization_percent", 0, 100, &gpu->utilization_percent, err) < 0 ||
	    json_read_int(object, "memory_used_mib", 0, AMOUNT_MAX, &gpu->memory_used_mib, err) <
		    0 ||
	    json_read_int(object, "memory_total_mib", 0, AMOUNT_MAX, &gpu->memory_total_mib, err) <
		    0 ||
	    read_int(object, "power_watts", 0, POWER_MAX, &gpu->power_watts, err) < 0)
		return err_wrap(err, "metrics.gpus");
	return 0;
}

static int read_gpus(const json_t *list, struct message_metrics *metrics, struct err *err)
{
	if (!list)
		return 0;
	if (!json_is_array(list) || json_array_size(list) > MESSAGE_GPUS_MAX)
		return err_set(err, ERR_INPUT, "metrics.gpus: is not a list of at most %d",
			       MESSAGE_GPUS_MAX);
	metrics->gpus = mem_alloc_array(json_array_size(list), sizeof(*metrics->gpus));
	metrics->gpu_count = json_array_size(list);
	for (size_t i = 0; i < metrics->gpu_count; i++) {
		if (read_gpu(json_array_get(list, i), &metrics->gpus[i], err) < 0)
			return -1;
	}
	return 0;
}

struct metric_member {
	const char *name;
	size_t offset;
};
static const struct metric_member metric_members[] = {
	{"rss_bytes", offsetof(struct message_metrics, rss_bytes)},
	{"pss_bytes", offsetof(struct message_metrics, pss_bytes)},
	{"cpu_ms", offsetof(struct message_metrics, cpu_ms)},
	{"read_bytes", offsetof(struct message_metrics, read_bytes)},
	{"write_bytes", offsetof(struct message_metrics, write_bytes)},
	{"processes", offsetof(struct message_metrics, processes)},
	{"threads", offsetof(struct message_metrics, threads)},
	{"net_receive_bytes", offsetof(struct message_metrics, net_receive_bytes)},
	{"net_send_bytes", offsetof(struct message_metrics, net_send_bytes)},
	{"step", offsetof(struct message_metrics, step)},
	{"steps", offsetof(struct message_metrics, steps)},
};

static int read_members(const json_t *object, struct message_metrics *metrics, struct err *err)
{
	metrics->net_receive_bytes = metrics->net_send_bytes = -1;
	metrics->step = metrics->steps = -1;
	if (json_read_int(object, "sampled_ms", 0, INT64_MAX, &metrics->sampled_ms, err) < 0)
		return err_wrap(err, "metrics");
	for (size_t i = 0; i < array_length(metric_members); i++) {
		int64_t *value = (int64_t *)((char *)metrics + metric_members[i].offset);
		if (json_read_int(object, metric_members[i].name, 0, AMOUNT_MAX, value, err) < 0)
			return err_wrap(err, "metrics");
	}
	return read_gpus(json_object_get(object, "gpus"), metrics, err);
}

int message_metrics_from_json(const json_t *object, struct message_metrics *metrics,
			      struct err *err)
{
	*metrics = (struct message_metrics){0};
	if (read_members(object, metrics, err) == 0)
		return 0;
	message_metrics_finish(metrics);
	return -1;
}

static int read_metrics(const json_t *body, bool *has_metrics, struct message_metrics *metrics,
			struct err *err)
{
	const json_t *object = json_object_get(body, "metrics");

	*has_metrics = object != NULL;
	return object ? message_metrics_from_json(object, metrics, err) : 0;
}

void message_metrics_finish(struct message_metrics *metrics)
{
	free(metrics->gpus);
	*metrics = (struct message_metrics){0};
}

json_t *message_metrics_to_json(const struct message_metrics *metrics)
{
	json_t *object = json_object();
	json_t *gpus = json_array();

	for (size_t i = 0; i < array_length(metric_members); i++) {
		int64_t value =
			*(const int64_t *)((const char *)metrics + metric_members[i].offset);
		if (value >= 0)
			json_set_int(object, metric_members[i].name, value);
	}
	for (size_t i = 0; i < metrics->gpu_count; i++) {
		const struct message_gpu *gpu = &metrics->gpus[i];
		json_t *row = json_object();
		json_set_int(row, "index", gpu->index);
		json_set_int(row, "utilization_percent", gpu->utilization_percent);
		json_set_int(row, "memory_used_mib", gpu->memory_used_mib);
		json_set_int(row, "memory_total_mib", gpu->memory_total_mib);
		if (gpu->power_watts >= 0)
			json_set_int(row, "power_watts", gpu->power_watts);
		json_array_append_new(gpus, row);
	}
	json_object_set_new(object, "gpus", gpus);
	return object;
}

/* ---- numbers ------------------------------------------------------------------------------ */

/* It is shown to people. */
bool message_is_name(const json_t *value, size_t min)
{
	const char *text = json_string_value(value);
	size_t length = json_string_length(value);

	if (!text || length < min || length > MESSAGE_NAME_MAX)
		return false;
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return false;
	return true;
}

static bool is_count(const json_t *value)
{
	return json_is_integer(value) && json_integer_value(value) >= 0;
}

/* ["loss", "train", 1795000000000, 120, 0.31] */
static bool read_number(const json_t *row, struct message_number *number)
{
	enum { NAME, RUN, TIME, STEP, VALUE, MEMBERS };
	const json_t *members[MEMBERS];

	if (!json_is_array(row) || json_array_size(row) != MEMBERS)
		return false;
	for (size_t i = 0; i < MEMBERS; i++)
		members[i] = json_array_get(row, i);
	if (!message_is_name(members[NAME], 1) || !message_is_name(members[RUN], 0) ||
	    !is_count(members[TIME]) ||
	    (!json_is_null(members[STEP]) && !is_count(members[STEP])) ||
	    (!json_is_null(members[VALUE]) && !json_is_number(members[VALUE])))
		return false;
	*number = (struct message_number){
		.name = json_string_value(members[NAME]),
		.run = json_string_value(members[RUN]),
		.time_ms = json_integer_value(members[TIME]),
		.step = json_is_null(members[STEP]) ? -1 : json_integer_value(members[STEP]),
		.value = json_is_null(members[VALUE]) ? (double)NAN
						      : json_number_value(members[VALUE]),
	};
	return true;
}

static int read_rows(json_t *list, struct message_numbers *numbers, struct err *err)
{
	if (!json_is_array(list) || json_array_size(list) > MESSAGE_NUMBERS_MAX)
		return err_set(err, ERR_INPUT, "numbers.rows: is not a list of at most %d",
			       MESSAGE_NUMBERS_MAX);
	numbers->list = json_incref(list);
	numbers->count = json_array_size(list);
	numbers->items = mem_alloc_array(numbers->count, sizeof(*numbers->items));
	for (size_t i = 0; i < numbers->count; i++) {
		if (!read_number(json_array_get(list, i), &numbers->items[i]))
			return err_set(err, ERR_INPUT,
				       "numbers.rows[%zu]: is not [name, run, time, step, value]",
				       i);
	}
	return 0;
}

static int read_numbers(const json_t *body, struct message_numbers *numbers, struct err *err)
{
	const json_t *object = json_object_get(body, "numbers");

	if (!object)
		return 0;
	if (json_need_int(object, "from", 0, AMOUNT_MAX, &numbers->from, err) < 0)
		return err_wrap(err, "numbers");
	return read_rows(json_object_get(object, "rows"), numbers, err);
}

static int read_use(const json_t *body, struct program_use *use, struct err *err)
{
	const json_t *object = json_object_get(body, "used");

	if (!object)
		return 0;
	if (json_need_int(object, "ms", 1, AMOUNT_MAX, &use->ms, err) < 0 ||
	    json_need_int(object, "cpu_ms", 0, AMOUNT_MAX, &use->cpu_ms, err) < 0 ||
	    json_read_int(object, "max_rss_bytes", 0, AMOUNT_MAX, &use->max_rss_bytes, err) < 0)
		return err_wrap(err, "used");
	return 0;
}

static int read_loss(const json_t *body, const struct message_identity *of,
		     struct lost_output *lost, struct err *err)
{
	const json_t *object = json_object_get(body, "output_lost");
	char *text cleanup_free = NULL;

	if (!object)
		return 0;
	if (json_need_int(object, "lines", 0, AMOUNT_MAX, &lost->lines, err) < 0 ||
	    json_need_int(object, "bytes", 1, AMOUNT_MAX, &lost->bytes, err) < 0 ||
	    json_need_text(object, "text", &text, err) < 0)
		return err_wrap(err, "output_lost");
	str_cut(text, LOSS_TEXT_CAP);
	lost->attempt = of->attempt;
	lost->text = str_printable(text, strlen(text));
	return 0;
}

static int read_checkpoint_trouble(const json_t *body, char **trouble, struct err *err)
{
	char *text cleanup_free = NULL;

	if (json_read_text(body, "checkpoint_trouble", &text, err) < 0)
		return -1;
	if (!text)
		return 0;
	str_cut(text, LOSS_TEXT_CAP);
	*trouble = str_printable(text, strlen(text));
	return 0;
}

void message_numbers_finish(struct message_numbers *numbers)
{
	free(numbers->items);
	json_decref(numbers->list);
	*numbers = (struct message_numbers){0};
}

/* ---- register ----------------------------------------------------------------------------- */

/* It goes into every task's cluster spec and environment. */
static int check_host(const char *host, struct err *err)
{
	size_t length = strlen(host);

	for (size_t i = 0; i < length; i++) {
		if (host[i] <= ' ' || host[i] > '~' || strchr("/\"\\,@", host[i]))
			return err_set(err, ERR_INPUT, "host: is neither a name nor an address");
	}
	if (length == 0 || length > HOST_MAX)
		return err_set(err, ERR_INPUT, "host: has not 1 to %d letters", HOST_MAX);
	return 0;
}

static int check_log_dir(const char *log_dir, struct err *err)
{
	if (log_dir && (log_dir[0] != '/' || strlen(log_dir) >= PATH_CAP))
		return err_set(err, ERR_INPUT, "log_dir: is not an absolute path");
	return 0;
}

static int read_register(struct message_register *message, const json_t *body, struct err *err)
{
	if (need_int(body, "attempt", 1, NUMBER_MAX, &message->of.attempt, err) < 0 ||
	    need_int(body, "epoch", 0, NUMBER_MAX, &message->of.epoch, err) < 0 ||
	    json_need_text(body, "host", &message->host, err) < 0 ||
	    check_host(message->host, err) < 0 ||
	    need_int(body, "port", 1, 65535, &message->port, err) < 0 ||
	    read_int(body, "pid", 1, PID_MAX, &message->pid, err) < 0 ||
	    read_int(body, "door", 0, 65535, &message->door, err) < 0 ||
	    json_read_text(body, "log_dir", &message->log_dir, err) < 0)
		return -1;
	return check_log_dir(message->log_dir, err);
}

int message_parse_register(struct message_register *message, const char *bytes, size_t length,
			   struct err *err)
{
	json_t *body cleanup_json = parse_object(bytes, length, err);

	*message = (struct message_register){0};
	if (body && read_register(message, body, err) == 0)
		return 0;
	message_register_finish(message);
	return -1;
}

void message_register_finish(struct message_register *message)
{
	free(message->host);
	free(message->log_dir);
	*message = (struct message_register){0};
}

/* ---- beat --------------------------------------------------------------------------------- */

static int read_identity(const json_t *body, struct message_identity *of, struct err *err)
{
	if (need_int(body, "attempt", 1, NUMBER_MAX, &of->attempt, err) < 0 ||
	    need_int(body, "epoch", 0, NUMBER_MAX, &of->epoch, err) < 0)
		return -1;
	return need_int(body, "restart", 0, NUMBER_MAX, &of->restart, err);
}

static int read_state(const json_t *body, enum message_state *state, struct err *err)
{
	static const char *const names[] = {"waiting", "running", "exited"};
	char *text cleanup_free = NULL;

	if (json_need_text(body, "state", &text, err) < 0)
		return -1;
	for (size_t i = 0; i < array_length(names); i++) {
		if (strcmp(text, names[i]) == 0) {
			*state = (enum message_state)i;
			return 0;
		}
	}
	return err_set(err, ERR_INPUT, "state: is none of waiting, running, exited");
}

static int read_pids(json_t *body, json_t **pids, struct err *err)
{
	json_t *list = json_object_get(body, "pids");
	json_t *pid;
	size_t i;

	if (!list)
		return 0;
	if (!json_is_array(list) || json_array_size(list) > MESSAGE_PIDS_MAX)
		return err_set(err, ERR_INPUT, "pids: is not a list of at most %d",
			       MESSAGE_PIDS_MAX);
	json_array_foreach(list, i, pid)
	{
		if (!json_is_integer(pid) || json_integer_value(pid) < 1 ||
		    json_integer_value(pid) > PID_MAX)
			return err_set(err, ERR_INPUT, "pids[%zu]: is not a process id", i);
	}
	*pids = json_incref(list);
	return 0;
}

static int read_logs(json_t *body, struct message_beat *message, struct err *err)
{
	json_t *list = json_object_get(body, "logs");
	json_t *number;
	size_t i;

	if (!list)
		return 0;
	if (!json_is_array(list) || json_array_size(list) > MESSAGE_LOGS_MAX)
		return err_set(err, ERR_INPUT, "logs: is not a list of at most %d",
			       MESSAGE_LOGS_MAX);
	json_array_foreach(list, i, number)
	{
		if (!json_is_integer(number) || json_integer_value(number) < 1)
			return err_set(err, ERR_INPUT, "logs[%zu]: is not the number of an order",
				       i);
		message->logs[i] = json_integer_value(number);
	}
	message->log_count = i;
	return 0;
}

static int read_beat(struct message_beat *message, json_t *body, struct err *err)
{
	int64_t seen;

	if (read_identity(body, &message->of, err) < 0 ||
	    read_state(body, &message->state, err) < 0 ||
	    json_read_int(body, "seen", 0, INT64_MAX, &seen, err) < 0 ||
	    read_pids(body, &message->pids, err) < 0 ||
	    read_int(body, "ui_port", 0, 65535, &message->ui_port, err) < 0 ||
	    read_logs(body, message, err) < 0 || read_numbers(body, &message->numbers, err) < 0 ||
	    read_loss(body, &message->of, &message->lost, err) < 0 ||
	    read_use(body, &message->use, err) < 0 ||
	    read_checkpoint_trouble(body, &message->checkpoint_trouble, err) < 0)
		return -1;
	return read_metrics(body, &message->has_metrics, &message->metrics, err);
}

int message_parse_beat(struct message_beat *message, const char *bytes, size_t length,
		       struct err *err)
{
	json_t *body cleanup_json = parse_object(bytes, length, err);

	*message = (struct message_beat){0};
	if (body && read_beat(message, body, err) == 0)
		return 0;
	message_beat_finish(message);
	return -1;
}

void message_beat_finish(struct message_beat *message)
{
	json_decref(message->pids);
	message_metrics_finish(&message->metrics);
	message_numbers_finish(&message->numbers);
	free(message->lost.text);
	free(message->checkpoint_trouble);
	*message = (struct message_beat){0};
}

/* ---- exit, kill, scale -------------------------------------------------------------------- */

int message_parse_exit(struct message_exit *message, const char *bytes, size_t length,
		       struct err *err)
{
	json_t *body cleanup_json = parse_object(bytes, length, err);

	*message = (struct message_exit){0};
	if (body && read_identity(body, &message->of, err) == 0 &&
	    cause_read_json(body, "cause", &message->cause, err) == 0 &&
	    read_use(body, &message->use, err) == 0 &&
	    read_metrics(body, &message->has_metrics, &message->metrics, err) == 0 &&
	    read_numbers(body, &message->numbers, err) == 0 &&
	    read_loss(body, &message->of, &message->lost, err) == 0)
		return 0;
	message_exit_finish(message);
	return -1;
}

void message_exit_finish(struct message_exit *message)
{
	cause_finish(&message->cause);
	message_metrics_finish(&message->metrics);
	message_numbers_finish(&message->numbers);
	free(message->lost.text);
	*message = (struct message_exit){0};
}

int message_parse_kill(char **reason, const char *bytes, size_t length, struct err *err)
{
	char *text cleanup_free = NULL;

	*reason = NULL;
	if (length == 0)
		return 0;
	json_t *body cleanup_json = parse_object(bytes, length, err);
	if (!body || json_read_text(body, "reason", &text, err) < 0)
		return -1;
	if (text && strlen(text) > REASON_CAP)
		return err_set(err, ERR_INPUT, "reason: is longer than %d bytes", REASON_CAP);
	*reason = text ? str_printable(text, strlen(text)) : NULL;
	return 0;
}

static int read_wanted(const struct job *job, const char *name, const json_t *value, int *wanted,
		       struct err *err)
{
	int number = job_find_type(job, name);
	const struct job_type *type = number < 0 ? NULL : &job->types[number];

	if (!type)
		return err_set(err, ERR_INPUT, "%s: the job has no such task type", name);
	if (!job_type_is_elastic(type))
		return err_set(
			err, ERR_INPUT,
			"%s: has %d task%s and is not elastic; it would be, had the job been "
			"submitted with tony.%s.min-instances",
			name, type->instances, str_plural(type->instances), name);
	if (!json_is_integer(value) || json_integer_value(value) < type->min_instances ||
	    json_integer_value(value) > type->max_instances)
		return err_set(err, ERR_INPUT, "%s: may have %d to %d tasks", name,
			       type->min_instances, type->max_instances);
	wanted[number] = (int)json_integer_value(value);
	return 0;
}

int message_parse_scale(const struct job *job, int *wanted, const char *bytes, size_t length,
			struct err *err)
{
	json_t *body cleanup_json = parse_object(bytes, length, err);
	const char *name;
	json_t *value;

	if (!body)
		return -1;
	if (json_object_size(body) == 0)
		return err_set(err, ERR_INPUT, "names no task type");
	for (size_t i = 0; i < job->type_count; i++)
		wanted[i] = -1;
	json_object_foreach(body, name, value)
	{
		if (read_wanted(job, name, value, wanted, err) < 0)
			return -1;
	}
	return 0;
}
