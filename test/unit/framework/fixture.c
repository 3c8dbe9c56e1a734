#include "fixture.h"

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"

static json_t *read_shape(const char *name)
{
	struct err err cleanup_err = {0};
	size_t length;
	char *path cleanup_free = mem_printf(SHAPE_DIR "/%s.json", name);
	char *text cleanup_free = fs_read_file(path, 1 << 20, &length, &err);
	json_t *shape = text ? json_parse(text, length, &err) : NULL;

	if (!shape)
		BUG("%s: %s", path, err_message(&err));
	return shape;
}

static const char *text_of(const json_t *object, const char *name, const char *otherwise)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : otherwise;
}

static enum job_role role_of(const char *name)
{
	if (str_equal(name, "untracked"))
		return JOB_ROLE_UNTRACKED;
	return str_equal(name, "sidecar") ? JOB_ROLE_SIDECAR : JOB_ROLE_TRACKED;
}

static void read_type(struct job *job, const json_t *shape, struct job_type *type)
{
	const json_t *processes = json_object_get(shape, "processes");
	char *key cleanup_free = NULL;

	type->name = mem_strdup(text_of(shape, "name", NULL));
	type->instances = (int)json_integer_value(json_object_get(shape, "instances"));
	type->memory = 2048;
	type->vcores = 1;
	type->processes = processes ? (int)json_integer_value(processes) : 1;
	type->gpus = (int)json_integer_value(json_object_get(shape, "gpus"));
	type->role = role_of(text_of(shape, "role", "tracked"));
	type->command = mem_strdup("true");
	str_list_add(&type->environment, "DATA=/data/{{task.type}}-{{task.index}}");
	key = mem_printf("tony.%s.instances", type->name);
	json_object_set_new(job->config, key, json_pack("{s:s}", "value", "1"));
}

struct job *fixture_job(const char *framework, const char *shape_name)
{
	json_t *shape cleanup_json = read_shape(shape_name);
	const json_t *types = json_object_get(shape, "types");
	struct job *job = mem_alloc(sizeof(*job));

	job->id = mem_strdup("tony-20261121-061400-1f3a");
	job->name = mem_strdup("digits");
	job->user = mem_strdup("ada");
	job->framework = mem_strdup(framework);
	job->queue = mem_strdup("default");
	job->mode = JOB_MODE_GANG;
	job->retry_count = 3;
	job->checkpoint_dir = mem_strdup("/state/jobs/j/checkpoint");
	job->tensorboard_log_dir = mem_strdup(text_of(shape, "tensorboard_log_dir", NULL));
	job->config = json_object();
	job->type_count = json_array_size(types);
	job->types = mem_alloc_array(job->type_count, sizeof(*job->types));
	for (size_t i = 0; i < job->type_count; i++)
		read_type(job, json_array_get(types, i), &job->types[i]);
	return job;
}

struct cluster *fixture_cluster(const struct job *job, const char *shape_name)
{
	struct err err cleanup_err = {0};
	json_t *shape cleanup_json = read_shape(shape_name);
	struct cluster *cluster = cluster_from_json(job, json_object_get(shape, "cluster"), &err);

	if (!cluster)
		BUG("fixture: %s", err_message(&err));
	return cluster;
}

void fixture_task(const struct job *job, const struct cluster *cluster, const char *type, int index,
		  struct framework_task *task)
{
	size_t number = (size_t)job_find_type(job, type);
	const int *slots = cluster->types[number].slots;

	*task = (struct framework_task){
		.job = job,
		.cluster = cluster,
		.type = number,
		.slot = slots ? slots[index] : index,
		.index = index,
		.attempt = 1,
		.am_attempt = 1,
		.ui_port = 6006,
		.am_url = "http://127.0.0.1:4000",
		.cluster_file = "/state/jobs/j/containers/c/cluster.json",
		.token_file = "/state/jobs/j/token",
		.secret_file = "/state/jobs/j/containers/c/secret",
		.agent = "/opt/tony/tony-agent",
		.work_dir = "/state/jobs/j/containers/c/work",
		.scratch_dir = "/state/jobs/j/containers/c/work",
		.guardian = 4711,
	};
}
