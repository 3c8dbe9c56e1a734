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
	{JOB(id), .kind = FIELD_TEXT, .min = 1, .max = 128},
	{JOB(name), .kind = FIELD_TEXT, .max = TEXT_CAP},
	{JOB(user), .kind = FIELD_TEXT, .max = 256},
	{JOB(framework), .kind = FIELD_TEXT, .min = 1, .max = 64},
	{JOB(scheduler), .kind = FIELD_OPTIONAL_TEXT, .max = 64},
	{JOB(queue), .kind = FIELD_OPTIONAL_TEXT, .max = TEXT_CAP},
	{JOB(rerun_of), .kind = FIELD_OPTIONAL_TEXT, .max = 128},
	{JOB(tags), .kind = FIELD_LIST, .max = TEXT_CAP},
	{JOB(mode), .kind = FIELD_CHOICE, .choices = modes},
	{JOB(submitted_ms), .kind = FIELD_INT64, .max = INT64_MAX},
	{JOB(fail_fast), .kind = FIELD_BOOL},
	{JOB(stop_after_chief), .kind = FIELD_BOOL},
	{JOB(retry_count), .kind = FIELD_INT, .max = COUNT_CAP},
	{JOB(infrastructure_retry_count), .kind = FIELD_INT, .max = COUNT_CAP},
	{JOB(retry_delay_ms), .kind = FIELD_INT64, .max = MS_CAP},
	{JOB(live_elastic), .kind = FIELD_OPTIONAL_BOOL},
	{JOB(elastic_settle_ms), .kind = FIELD_OPTIONAL_INT64, .max = MS_CAP},
	{JOB(application_timeout_ms), .kind = FIELD_INT64, .max = MS_CAP},
	{JOB(allocation_timeout_ms), .kind = FIELD_INT64, .max = MS_CAP},
	{JOB(registration_timeout_ms), .kind = FIELD_INT64, .max = MS_CAP},
	{JOB(execution_timeout_ms), .kind = FIELD_INT64, .max = MS_CAP},
	{JOB(executor_give_up_ms), .kind = FIELD_INT64, .max = MS_CAP},
	{JOB(heartbeat_interval_ms), .kind = FIELD_INT64, .min = 1, .max = MS_CAP},
	{JOB(max_missed_heartbeats), .kind = FIELD_INT, .min = 1, .max = COUNT_CAP},
	{JOB(metrics_interval_ms), .kind = FIELD_INT64, .max = MS_CAP},
	{JOB(gpu_metrics), .kind = FIELD_BOOL},
	{JOB(gpu_command), .kind = FIELD_OPTIONAL_TEXT, .max = TEXT_CAP},
	{JOB(error_lines), .kind = FIELD_INT, .max = 1000},
	{JOB(log_rotate_bytes), .kind = FIELD_INT64, .max = 1LL << 50},
	{JOB(log_keep), .kind = FIELD_INT, .max = 1000},
	{JOB(work_dir), .kind = FIELD_OPTIONAL_TEXT, .min = 1, .max = TEXT_CAP},
	{JOB(checkpoint_dir), .kind = FIELD_OPTIONAL_TEXT, .max = TEXT_CAP},
	{JOB(output_dir), .kind = FIELD_OPTIONAL_TEXT, .min = 1, .max = TEXT_CAP},
	{JOB(results_dir), .kind = FIELD_OPTIONAL_TEXT, .min = 1, .max = TEXT_CAP},
	{JOB(tensorboard_log_dir), .kind = FIELD_OPTIONAL_TEXT, .max = TEXT_CAP},
	{JOB(on_end_webhook), .kind = FIELD_OPTIONAL_TEXT, .min = 1, .max = TEXT_CAP},
	{JOB(on_end_authorities), .kind = FIELD_OPTIONAL_TEXT, .min = 1, .max = AUTHORITIES_CAP},
	{JOB(on_end_command), .kind = FIELD_OPTIONAL_TEXT, .min = 1, .max = COMMAND_CAP},
	{JOB(on_end_timeout_ms), .kind = FIELD_OPTIONAL_INT64, .max = MS_CAP},
};
const size_t job_field_count = array_length(job_fields);

const struct job_field job_type_fields[] = {
	{TYPE(name), .kind = FIELD_TEXT, .min = 1, .max = 64},
	{TYPE(instances), .kind = FIELD_INT, .max = JOB_MAX_TASKS},
	{TYPE(min_instances), .kind = FIELD_OPTIONAL_INT, .max = JOB_MAX_TASKS},
	{TYPE(max_instances), .kind = FIELD_OPTIONAL_INT, .max = JOB_MAX_TASKS},
	{TYPE(processes), .kind = FIELD_INT, .min = 1, .max = JOB_MAX_PROCESSES},
	{TYPE(memory), .kind = FIELD_INT64, .max = MIB_CAP},
	{TYPE(vcores), .kind = FIELD_INT, .max = COUNT_CAP},
	{TYPE(gpus), .kind = FIELD_INT, .max = COUNT_CAP},
	{TYPE(command), .kind = FIELD_OPTIONAL_TEXT, .max = COMMAND_CAP},
	{TYPE(environment), .kind = FIELD_LIST, .max = COMMAND_CAP},
	{TYPE(role), .kind = FIELD_CHOICE, .choices = job_roles},
	{TYPE(stop_on_failure), .kind = FIELD_BOOL},
	{TYPE(max_restarts), .kind = FIELD_INT, .max = COUNT_CAP},
	{TYPE(hold_port), .kind = FIELD_BOOL},
	{TYPE(strict_port), .kind = FIELD_OPTIONAL_BOOL},
	{TYPE(listener_uids), .kind = FIELD_LIST, .max = 16},
	{TYPE(isolation), .kind = FIELD_CHOICE, .choices = isolations},
	{TYPE(stop_grace_ms), .kind = FIELD_INT64, .max = MS_CAP},
	{TYPE(frozen_timeout_ms), .kind = FIELD_INT64, .max = MS_CAP},
	{TYPE(hang_timeout_ms), .kind = FIELD_OPTIONAL_INT64, .max = MS_CAP},
	{TYPE(on_exit), .kind = FIELD_LIST, .max = EXIT_RULE_CAP},
	{TYPE(node_label), .kind = FIELD_OPTIONAL_TEXT, .max = TEXT_CAP},
	{TYPE(docker_image), .kind = FIELD_OPTIONAL_TEXT, .max = TEXT_CAP},
	{TYPE(stdin_file), .kind = FIELD_OPTIONAL_TEXT, .min = 1, .max = TEXT_CAP},
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
		if (*(const int64_t *)slot == 0)
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
