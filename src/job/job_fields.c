#include "job/job_fields.h"

#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "job/exit_rules.h"

#define TEXT_CAP	JOB_TEXT_CAP
#define COMMAND_CAP	131072			    /* what Linux takes as one argument */
#define MS_CAP		(3660LL * 24 * 3600 * 1000) /* ten years */
#define MIB_CAP		(1LL << 40)
#define COUNT_CAP	1000000
#define AUTHORITIES_CAP (1 << 20)

static const char *const modes[] = {"gang", "fcfs", NULL};
const char *const job_roles[] = {"tracked", "untracked", "sidecar", NULL};
static const char *const isolations[] = {"none", "pid-namespace", NULL};
const char *const job_file_kinds[] = {"link", "content", "archive", NULL};

#define JOB(member)  #member, .offset = offsetof(struct job, member)
#define TYPE(member) #member, .offset = offsetof(struct job_type, member)

const struct job_field job_fields[] = {
	{JOB(id), FIELD_TEXT, 128, .min = 1},
	{JOB(name), FIELD_TEXT, TEXT_CAP, "tony.application.name"},
	{JOB(user), FIELD_TEXT, 256},
	{JOB(framework), FIELD_TEXT, 64, .min = 1},
	{JOB(framework_file), FIELD_OPTIONAL_TEXT, 256 << 10, .min = 1},
	{JOB(framework_place), FIELD_OPTIONAL_TEXT, TEXT_CAP, .min = 1},
	{JOB(chief), FIELD_OPTIONAL_TEXT, 64, .min = 1},
	{JOB(scheduler), FIELD_OPTIONAL_TEXT, 64, "tony.application.scheduler"},
	{JOB(queue), FIELD_OPTIONAL_TEXT, TEXT_CAP, "tony.application.queue"},
	{JOB(rerun_of), FIELD_OPTIONAL_TEXT, 128},
	{JOB(tags), FIELD_LIST, TEXT_CAP, "tony.application.tags"},
	{JOB(uses), FIELD_LIST, 256},
	{JOB(mode), FIELD_CHOICE, .choices = modes, .key = "tony.application.distributed-mode"},
	{JOB(submitted_ms), FIELD_INT64, INT64_MAX},
	{JOB(after), FIELD_LIST, 256},
	{JOB(begin_ms), FIELD_OPTIONAL_INT64, INT64_MAX},
	{JOB(hold), FIELD_OPTIONAL_BOOL, .key = "tony.application.hold"},
	{JOB(parent), FIELD_OPTIONAL_TEXT, 128, .min = 1},
	{JOB(outlives_parent), FIELD_OPTIONAL_BOOL, .key = "tony.application.outlives-parent"},
	{JOB(priority), FIELD_OPTIONAL_INT64, INT32_MAX, "tony.application.priority"},
	{JOB(array), FIELD_OPTIONAL_TEXT, 128, .min = 1},
	{JOB(array_index), FIELD_OPTIONAL_INT64, INT32_MAX},
	{JOB(array_limit), FIELD_OPTIONAL_INT64, INT32_MAX},
	{JOB(array_earlier), FIELD_LIST, 256},
	{JOB(sweep), FIELD_OPTIONAL_TEXT, 128, .min = 1},
	{JOB(trial), FIELD_OPTIONAL_INT64, INT32_MAX},
	{JOB(fail_fast), FIELD_BOOL, .key = "tony.application.fail-on-worker-failure-enabled"},
	{JOB(stop_after_chief), FIELD_BOOL},
	{JOB(retry_count), FIELD_INT, COUNT_CAP, "tony.am.retry-count"},
	{JOB(infrastructure_retry_count), FIELD_INT, COUNT_CAP,
	 "tony.am.infrastructure-retry-count"},
	{JOB(retry_delay_ms), FIELD_INT64, MS_CAP, "tony.am.retry-delay"},
	{JOB(live_elastic), FIELD_OPTIONAL_BOOL},
	{JOB(tls), FIELD_OPTIONAL_BOOL},
	{JOB(elastic_settle_ms), FIELD_OPTIONAL_INT64, MS_CAP,
	 "tony.application.elastic-settle-time"},
	{JOB(application_timeout_ms), FIELD_INT64, MS_CAP, "tony.application.timeout"},
	{JOB(allocation_timeout_ms), FIELD_INT64, MS_CAP, "tony.container.allocation.timeout"},
	{JOB(registration_timeout_ms), FIELD_INT64, MS_CAP, "tony.container.registration.timeout"},
	{JOB(execution_timeout_ms), FIELD_INT64, MS_CAP, "tony.task.executor.execution-timeout-ms"},
	{JOB(executor_give_up_ms), FIELD_INT64, MS_CAP, "tony.task.executor.am-timeout"},
	{JOB(heartbeat_interval_ms), FIELD_INT64, MS_CAP, "tony.task.heartbeat-interval-ms",
	 .min = 1},
	{JOB(max_missed_heartbeats), FIELD_INT, COUNT_CAP, "tony.task.max-missed-heartbeats",
	 .min = 1},
	{JOB(metrics_interval_ms), FIELD_INT64, MS_CAP, "tony.task.metrics-interval-ms"},
	{JOB(gpu_metrics), FIELD_BOOL, .key = "tony.task.gpu-metrics.enabled"},
	{JOB(gpu_command), FIELD_OPTIONAL_TEXT, TEXT_CAP, "tony.task.gpu-command"},
	{JOB(error_lines), FIELD_INT, 1000, "tony.task.executor.execution.error-message-max-depth"},
	{JOB(log_rotate_bytes), FIELD_INT64, 1LL << 50, "tony.task.log-rotate-size"},
	{JOB(log_keep), FIELD_INT, 1000, "tony.task.log-keep"},
	{JOB(work_dir), FIELD_OPTIONAL_TEXT, TEXT_CAP, .min = 1},
	{JOB(checkpoint_dir), FIELD_OPTIONAL_TEXT, TEXT_CAP},
	{JOB(output_dir), FIELD_OPTIONAL_TEXT, TEXT_CAP, .min = 1},
	{JOB(results_dir), FIELD_OPTIONAL_TEXT, TEXT_CAP, .min = 1},
	{JOB(tensorboard_log_dir), FIELD_OPTIONAL_TEXT, TEXT_CAP,
	 "tony.application.tensorboard-log-dir"},
	{JOB(on_end_webhook), FIELD_OPTIONAL_TEXT, TEXT_CAP, "tony.application.on-end-webhook",
	 .min = 1},
	{JOB(on_end_authorities), FIELD_OPTIONAL_TEXT, AUTHORITIES_CAP, .min = 1},
	{JOB(on_end_command), FIELD_OPTIONAL_TEXT, COMMAND_CAP, "tony.application.on-end",
	 .min = 1},
	{JOB(on_end_timeout_ms), FIELD_OPTIONAL_INT64, MS_CAP, "tony.application.on-end-timeout"},
	{JOB(tracking_uri), FIELD_OPTIONAL_TEXT, TEXT_CAP, "tony.tracking.uri", .min = 1},
	{JOB(tracking_experiment), FIELD_OPTIONAL_TEXT, TEXT_CAP, "tony.tracking.experiment",
	 .min = 1},
	{JOB(tracking_authorities), FIELD_OPTIONAL_TEXT, AUTHORITIES_CAP, .min = 1},
	{JOB(tracking_nests), FIELD_OPTIONAL_BOOL, .key = "tony.tracking.nested-runs"},
	{JOB(tracking_wandb), FIELD_OPTIONAL_BOOL, .key = "tony.tracking.wandb"},
};
const size_t job_field_count = array_length(job_fields);

const struct job_field job_type_fields[] = {
	{TYPE(name), FIELD_TEXT, 64, .min = 1},
	{TYPE(instances), FIELD_INT, JOB_MAX_TASKS},
	{TYPE(min_instances), FIELD_OPTIONAL_INT, JOB_MAX_TASKS},
	{TYPE(max_instances), FIELD_OPTIONAL_INT, JOB_MAX_TASKS},
	{TYPE(processes), FIELD_INT, JOB_MAX_PROCESSES, "tony.<type>.processes", .min = 1},
	{TYPE(memory), FIELD_INT64, MIB_CAP, "tony.<type>.memory"},
	{TYPE(vcores), FIELD_INT, COUNT_CAP, "tony.<type>.vcores"},
	{TYPE(gpus), FIELD_INT, COUNT_CAP, "tony.<type>.gpus"},
	{TYPE(command), FIELD_OPTIONAL_TEXT, COMMAND_CAP, "tony.<type>.command",
	 .common_key = "tony.containers.command"},
	{TYPE(environment), FIELD_LIST, COMMAND_CAP},
	{TYPE(role), FIELD_CHOICE, .choices = job_roles},
	{TYPE(stop_on_failure), FIELD_BOOL},
	{TYPE(max_restarts), FIELD_INT, COUNT_CAP, "tony.<type>.max-restarts"},
	{TYPE(hold_port), FIELD_BOOL, .key = "tony.<type>.hold-port"},
	{TYPE(strict_port), FIELD_OPTIONAL_BOOL, .key = "tony.<type>.strict-port"},
	{TYPE(listener_uids), FIELD_LIST, 16},
	{TYPE(isolation), FIELD_CHOICE, .choices = isolations, .key = "tony.<type>.isolation"},
	{TYPE(stop_grace_ms), FIELD_INT64, MS_CAP, "tony.<type>.stop-grace"},
	{TYPE(frozen_timeout_ms), FIELD_INT64, MS_CAP, "tony.<type>.frozen-timeout"},
	{TYPE(hang_timeout_ms), FIELD_OPTIONAL_INT64, MS_CAP, "tony.<type>.hang-timeout"},
	{TYPE(on_exit), FIELD_LIST, EXIT_RULE_CAP, "tony.<type>.on-exit"},
	{TYPE(node_label), FIELD_OPTIONAL_TEXT, TEXT_CAP, "tony.<type>.node-label",
	 .common_key = "tony.application.node-label"},
	{TYPE(docker_image), FIELD_OPTIONAL_TEXT, TEXT_CAP, "tony.docker.<type>.image",
	 .common_key = "tony.docker.containers.image"},
	{TYPE(stdin_file), FIELD_OPTIONAL_TEXT, TEXT_CAP, .min = 1},
};
const size_t job_type_field_count = array_length(job_type_fields);

/* ---- reading ------------------------------------------------------------------------------ */

static int check_length(const struct job_field *field, const char *text, struct err *err)
{
	size_t length = strlen(text);

	if (length < (size_t)field->min)
		return err_set(err, ERR_INPUT, "%s: is empty", field->name);
	if (length > (size_t)field->max)
		return err_set(err, ERR_INPUT, "%s: is longer than %lld bytes", field->name,
			       (long long)field->max);
	return 0;
}

static int read_text(const struct job_field *field, const json_t *object, char **value,
		     struct err *err)
{
	bool optional = field->kind == FIELD_OPTIONAL_TEXT;

	if ((optional ? json_read_text(object, field->name, value, err)
		      : json_need_text(object, field->name, value, err)) < 0)
		return -1;
	return *value ? check_length(field, *value, err) : 0;
}

static int read_list(const struct job_field *field, const json_t *object, struct str_list *list,
		     struct err *err)
{
	if (json_read_list(object, field->name, list, err) < 0)
		return -1;
	for (size_t i = 0; i < list->count; i++)
		if (check_length(field, list->items[i], err) < 0)
			return -1;
	return 0;
}

int job_read_choice(const json_t *object, const char *name, const char *const *choices,
		    struct err *err)
{
	char *text cleanup_free = NULL;

	if (json_need_text(object, name, &text, err) < 0)
		return -1;
	for (int i = 0; choices[i]; i++)
		if (strcmp(choices[i], text) == 0)
			return i;
	return err_set(err, ERR_INPUT, "%s: \"%.64s\" is none of its values", name, text);
}

static int need_bool(const json_t *object, const char *name, bool *value, struct err *err)
{
	if (!json_object_get(object, name))
		return err_set(err, ERR_INPUT, "%s: is missing", name);
	return json_read_bool(object, name, value, err);
}

static int read_field(const struct job_field *field, const json_t *object, void *slot,
		      struct err *err)
{
	int64_t number = 0;

	switch (field->kind) {
	case FIELD_TEXT:
	case FIELD_OPTIONAL_TEXT:
		return read_text(field, object, slot, err);
	case FIELD_LIST:
		return read_list(field, object, slot, err);
	case FIELD_BOOL:
		return need_bool(object, field->name, slot, err);
	case FIELD_INT64:
		return json_need_int(object, field->name, field->min, field->max, slot, err);
	case FIELD_OPTIONAL_INT64:
	case FIELD_KNOWN_INT64:
		return json_read_int(object, field->name, field->min, field->max, slot, err);
	case FIELD_OPTIONAL_BOOL:
		return json_read_bool(object, field->name, slot, err);
	case FIELD_OPTIONAL_INT:
		if (json_read_int(object, field->name, field->min, field->max, &number, err) < 0)
			return -1;
		*(int *)slot = (int)number;
		return 0;
	case FIELD_INT:
		if (json_need_int(object, field->name, field->min, field->max, &number, err) < 0)
			return -1;
		*(int *)slot = (int)number;
		return 0;
	case FIELD_CHOICE:
		*(int *)slot = job_read_choice(object, field->name, field->choices, err);
		return *(int *)slot < 0 ? -1 : 0;
	}
	BUG("field %s is of no known kind", field->name);
}

int job_fields_read(const struct job_field *fields, size_t count, const json_t *object,
		    void *target, struct err *err)
{
	for (size_t i = 0; i < count; i++)
		if (read_field(&fields[i], object, (char *)target + fields[i].offset, err) < 0)
			return -1;
	return 0;
}

/* ---- writing and freeing ------------------------------------------------------------------ */

static void write_field(const struct job_field *field, const void *slot, json_t *object)
{
	switch (field->kind) {
	case FIELD_TEXT:
	case FIELD_OPTIONAL_TEXT:
		json_set_text(object, field->name, *(char *const *)slot);
		return;
	case FIELD_LIST:
		json_set_list(object, field->name, slot);
		return;
	case FIELD_OPTIONAL_BOOL:
		if (!*(const bool *)slot)
			return;
		__attribute__((fallthrough));
	case FIELD_BOOL:
		json_set_bool(object, field->name, *(const bool *)slot);
		return;
	case FIELD_OPTIONAL_INT64:
	case FIELD_KNOWN_INT64:
		if (*(const int64_t *)slot < (field->kind == FIELD_OPTIONAL_INT64))
			return;
		__attribute__((fallthrough));
	case FIELD_INT64:
		json_set_int(object, field->name, *(const int64_t *)slot);
		return;
	case FIELD_OPTIONAL_INT:
		if (*(const int *)slot == 0)
			return;
		__attribute__((fallthrough));
	case FIELD_INT:
		json_set_int(object, field->name, *(const int *)slot);
		return;
	case FIELD_CHOICE:
		json_set_text(object, field->name, field->choices[*(const int *)slot]);
		return;
	}
}

void job_fields_write(const struct job_field *fields, size_t count, const void *source,
		      json_t *object)
{
	for (size_t i = 0; i < count; i++)
		write_field(&fields[i], (const char *)source + fields[i].offset, object);
}

void job_fields_finish(const struct job_field *fields, size_t count, void *target)
{
	for (size_t i = 0; i < count; i++) {
		void *slot = (char *)target + fields[i].offset;
		if (fields[i].kind == FIELD_TEXT || fields[i].kind == FIELD_OPTIONAL_TEXT)
			mem_replace(slot, NULL);
		else if (fields[i].kind == FIELD_LIST)
			str_list_finish(slot);
	}
}
