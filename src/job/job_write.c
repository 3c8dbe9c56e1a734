#include "base/json.h"
#include "job/job_fields.h"

static json_t *write_files(const struct job_files *files)
{
	json_t *list = json_array();

	for (size_t i = 0; i < files->count; i++) {
		const struct job_file *file = &files->items[i];
		json_t *object = json_object();
		json_set_text(object, "kind", job_file_kinds[file->kind]);
		json_set_text(object, "source", file->source);
		json_set_text(object, "name", file->name);
		json_array_append_new(list, object);
	}
	return list;
}

static json_t *write_dependencies(const struct job *job, const struct job_type *type)
{
	json_t *list = json_array();

	for (size_t i = 0; i < type->dependency_count; i++) {
		const struct job_dependency *dependency = &type->dependencies[i];
		json_t *object = json_object();
		json_set_text(object, "type", job->types[dependency->type].name);
		json_set_bool(object, "on_start", dependency->on_start);
		json_array_append_new(list, object);
	}
	return list;
}

static json_t *write_types(const struct job *job)
{
	json_t *list = json_array();

	for (size_t i = 0; i < job->type_count; i++) {
		const struct job_type *type = &job->types[i];
		json_t *object = json_object();
		job_fields_write(job_type_fields, job_type_field_count, type, object);
		json_object_set_new(object, "files", write_files(&type->files));
		json_object_set_new(object, "depends_on", write_dependencies(job, type));
		json_array_append_new(list, object);
	}
	return list;
}

static json_t *write_group_timeouts(const struct job *job)
{
	json_t *list = json_array();

	for (size_t i = 0; i < job->group_timeout_count; i++) {
		const struct job_group_timeout *timeout = &job->group_timeouts[i];
		json_t *members = json_array();
		for (size_t k = 0; k < timeout->member_count; k++)
			json_array_append_new(members,
					      json_string(job->types[timeout->members[k]].name));
		json_t *object = json_object();
		json_set_text(object, "type", job->types[timeout->type].name);
		json_set_text(object, "group", timeout->group);
		json_object_set_new(object, "members", members);
		json_set_int(object, "timeout_ms", timeout->timeout_ms);
		json_set_bool(object, "ignored", timeout->ignored);
		json_array_append_new(list, object);
	}
	return list;
}

json_t *job_to_json(const struct job *job)
{
	json_t *object = json_object();

	json_set_int(object, "format", JOB_FORMAT);
	job_fields_write(job_fields, job_field_count, job, object);
	json_object_set_new(object, "types", write_types(job));
	json_object_set_new(object, "group_timeouts", write_group_timeouts(job));
	job_secrets_write(&job->secrets, object);
	if (job->config)
		json_object_set(object, "config", job->config);
	if (job->provenance)
		json_object_set(object, "provenance", job->provenance);
	if (job->marks)
		json_object_set(object, "marks", job->marks);
	if (job->engine)
		json_object_set(object, "engine", job->engine);
	if (job->stores)
		json_object_set(object, "stores", job->stores);
	return object;
}

char *job_to_text(const struct job *job)
{
	json_t *object cleanup_json = job_to_json(job);

	return json_text(object);
}
