#include "job/job.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "job/job_fields.h"

static void finish_type(struct job_type *type)
{
	job_fields_finish(job_type_fields, job_type_field_count, type);
	for (size_t i = 0; i < type->files.count; i++) {
		free(type->files.items[i].source);
		free(type->files.items[i].name);
	}
	free(type->files.items);
	free(type->dependencies);
}

bool job_is_sweep(const struct job *job)
{
	return job->sweep && str_equal(job->sweep, job->id);
}

/* Shells pass on what is named as they name variables. */
char *job_child_mark(const struct job *job)
{
	char *mark = mem_printf("TONY_CHILD_OF_%s=1", job->id);

	for (char *letter = mark; *letter != '='; letter++)
		if (!isalnum((unsigned char)*letter))
			*letter = '_';
	return mark;
}

bool job_has_notices(const struct job *job)
{
	return job->on_end_webhook || job->on_end_command || job->tracking_uri;
}

const char *job_experiment(const struct job *job)
{
	if (!job->tracking_uri)
		return NULL;
	return job->tracking_experiment ? job->tracking_experiment : job->name;
}

int64_t job_diff_bytes(const struct job *job)
{
	return json_integer_value(json_object_get(job->provenance, "diff_bytes"));
}

void job_destroy(struct job *job)
{
	if (!job)
		return;
	job_fields_finish(job_fields, job_field_count, job);
	for (size_t i = 0; i < job->type_count; i++)
		finish_type(&job->types[i]);
	free(job->types);
	for (size_t i = 0; i < job->group_timeout_count; i++) {
		free(job->group_timeouts[i].group);
		free(job->group_timeouts[i].members);
	}
	free(job->group_timeouts);
	job_secrets_finish(&job->secrets);
	json_decref(job->config);
	json_decref(job->engine);
	json_decref(job->stores);
	json_decref(job->provenance);
	json_decref(job->marks);
	free(job);
}

bool job_type_is_elastic(const struct job_type *type)
{
	return type->max_instances > 0;
}

int job_type_slots(const struct job_type *type)
{
	return job_type_is_elastic(type) ? type->max_instances : type->instances;
}

int job_type_minimum(const struct job_type *type)
{
	return job_type_is_elastic(type) ? type->min_instances : type->instances;
}

size_t job_task_count(const struct job *job)
{
	size_t count = 0;

	for (size_t i = 0; i < job->type_count; i++)
		count += (size_t)job_type_slots(&job->types[i]);
	return count;
}

int64_t job_heartbeat_timeout_ms(const struct job *job)
{
	int missed = job->max_missed_heartbeats > 3 ? job->max_missed_heartbeats : 3;

	return job->heartbeat_interval_ms * missed;
}

const char *job_config_value(const json_t *config, const char *key)
{
	const json_t *row = json_object_get(config, key);
	const char *value = json_string_value(json_object_get(row, "value"));

	return value && *value ? value : NULL;
}

const char *job_config(const struct job *job, const char *key)
{
	return job_config_value(job->config, key);
}

const char *job_config_format(const struct job *job, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *key cleanup_free = mem_vprintf(format, args);
	va_end(args);
	return job_config(job, key);
}

bool job_config_bool(const struct job *job, const char *key)
{
	const char *value = job_config(job, key);
	bool result = false;

	if (value)
		str_parse_bool(value, &result);
	return result;
}

int64_t job_config_ms(const struct job *job, const char *key, int64_t bare_ms)
{
	const char *value = job_config(job, key);
	int64_t ms = 0;

	if (value)
		str_parse_duration(value, bare_ms, &ms);
	return ms;
}

static const char *first_of(const struct job *job, const char *const *keys)
{
	const char *value = NULL;

	for (size_t i = 0; keys[i] && !value; i++)
		value = job_config(job, keys[i]);
	return value;
}

bool job_waits_to_begin(const struct job *job)
{
	return job->after.count > 0 || job->array_earlier.count > 0 || job->begin_ms > 0 ||
	       job->hold;
}

const char *job_view_acl(const struct job *job)
{
	static const char *const keys[] = {"tony.application.acl.view", "tony.application.view-acl",
					   "tony.yarn.view-acl", NULL};

	return first_of(job, keys);
}

const char *job_modify_acl(const struct job *job)
{
	static const char *const keys[] = {"tony.application.acl.modify", "tony.yarn.modify-acl",
					   NULL};

	return first_of(job, keys);
}

char *job_portal_page(const struct job *job)
{
	const char *url = job_config(job, "tony.portal.url");
	size_t length = url ? strlen(url) : 0;

	if (!url || !str_is_http_url(url))
		return NULL;
	while (url[length - 1] == '/')
		length--;
	return mem_printf("%.*s/#/jobs/%s", (int)length, url, job->id);
}

int job_find_type(const struct job *job, const char *name)
{
	for (size_t i = 0; i < job->type_count; i++)
		if (strcmp(job->types[i].name, name) == 0)
			return (int)i;
	return -1;
}

char *job_output_name(const struct job *job, size_t type, int index)
{
	return mem_printf("%s-%d", job->types[type].name, index);
}

char *job_task_name(const struct job *job, size_t type, int index)
{
	return mem_printf("%s:%d", job->types[type].name, index);
}

int64_t job_find_task(const struct job *job, const char *name)
{
	const char *colon = strchr(name, ':');
	int64_t index, first = 0;

	if (!colon || str_parse_int(colon + 1, 0, JOB_MAX_TASKS, &index) < 0)
		return -1;
	size_t length = (size_t)(colon - name);
	for (size_t i = 0; i < job->type_count; i++) {
		const struct job_type *type = &job->types[i];
		if (strncmp(type->name, name, length) == 0 && type->name[length] == '\0')
			return index < job_type_slots(type) ? first + index : -1;
		first += job_type_slots(type);
	}
	return -1;
}

/* A type without instances is not there. */
static bool has_tasks_of(const struct job *job, const char *name)
{
	int type = job_find_type(job, name);

	return type >= 0 && job->types[type].instances > 0;
}

static bool is_single_type(const struct job *job)
{
	size_t types = 0;

	for (size_t i = 0; i < job->type_count; i++)
		types += job->types[i].instances > 0;
	return types == 1;
}

bool job_is_chief(const struct job *job, size_t type, int index)
{
	const char *name = job->types[type].name;

	if (job->chief)
		return strcmp(name, job->chief) == 0 && index == 0;
	if (has_tasks_of(job, "chief"))
		return strcmp(name, "chief") == 0;
	if (has_tasks_of(job, "worker"))
		return strcmp(name, "worker") == 0 && index == 0;
	return is_single_type(job) && index == 0;
}
