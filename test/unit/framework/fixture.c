#include "fixture.h"

#include "base/json.h"
#include "base/mem.h"

static const char *const configurations[] = {
	[SHAPE_WORKERS] = "{\"tony.worker.instances\": {\"value\": \"2\"}}",
	[SHAPE_ROLES] = "{\"tony.worker.instances\": {\"value\": \"2\"}}",
	[SHAPE_DENSE] = "{\"tony.worker.instances\": {\"value\": \"2\"}}",
	[SHAPE_SINGLE] = "{\"tony.worker.instances\": {\"value\": \"1\"}}",
};

static const char *const clusters[] = {
	[SHAPE_WORKERS] = "{\"epoch\": 1, \"types\": {"
			  "\"worker\": [\"127.0.0.1:4001\", \"127.0.0.1:4002\"]}}",
	[SHAPE_ROLES] = "{\"epoch\": 3, \"types\": {\"ps\": [\"node-a:4010\"],"
			"\"worker\": [\"node-b:4001\", \"node-c:4002\"],"
			"\"chief\": [\"node-a:4003\"], \"evaluator\": [\"node-b:4004\"],"
			"\"tensorboard\": [\"node-a:4005\"]}}",
	[SHAPE_DENSE] = "{\"epoch\": 2, \"types\": {\"data\": [], \"helper\": [\"[::1]:4001\"],"
			"\"worker\": [\"[fe80::1]:4002\", \"node-b:4003\"]}}",
	[SHAPE_SINGLE] = "{\"epoch\": 1, \"types\": {\"worker\": [\"127.0.0.1:4001\"]}}",
};

static void add_type(struct job *job, const char *name, int instances, int processes,
		     enum job_role role)
{
	job->types = mem_realloc_array(job->types, job->type_count + 1, sizeof(*job->types));
	struct job_type *type = &job->types[job->type_count++];

	*type = (struct job_type){.name = mem_strdup(name),
				  .instances = instances,
				  .processes = processes,
				  .role = role,
				  .command = mem_strdup("true")};
	str_list_add(&type->environment, "DATA=/data/{{task.type}}-{{task.index}}");
}

static void add_types(struct job *job, enum shape shape)
{
	switch (shape) {
	case SHAPE_WORKERS:
		add_type(job, "worker", 2, 1, JOB_ROLE_TRACKED);
		break;
	case SHAPE_ROLES:
		add_type(job, "ps", 1, 1, JOB_ROLE_UNTRACKED);
		add_type(job, "worker", 2, 1, JOB_ROLE_TRACKED);
		add_type(job, "chief", 1, 1, JOB_ROLE_TRACKED);
		add_type(job, "evaluator", 1, 1, JOB_ROLE_TRACKED);
		add_type(job, "tensorboard", 1, 1, JOB_ROLE_SIDECAR);
		job->tensorboard_log_dir = mem_strdup("/logs/tb");
		break;
	case SHAPE_DENSE:
		add_type(job, "data", 1, 1, JOB_ROLE_TRACKED);
		add_type(job, "helper", 1, 1, JOB_ROLE_TRACKED);
		add_type(job, "worker", 2, 2, JOB_ROLE_TRACKED);
		break;
	case SHAPE_SINGLE:
		add_type(job, "worker", 1, 1, JOB_ROLE_TRACKED);
		break;
	}
}

struct job *fixture_job(const char *framework, enum shape shape)
{
	struct job *job = mem_alloc(sizeof(*job));

	job->id = mem_strdup("tony-20261121-061400-1f3a");
	job->name = mem_strdup("digits");
	job->user = mem_strdup("ada");
	job->framework = mem_strdup(framework);
	job->queue = mem_strdup("default");
	job->mode = JOB_MODE_GANG;
	job->retry_count = 3;
	job->checkpoint_dir = mem_strdup("/state/jobs/j/checkpoint");
	job->config = json_loads(configurations[shape], 0, NULL);
	add_types(job, shape);
	return job;
}

struct cluster *fixture_cluster(const struct job *job, enum shape shape)
{
	struct err err cleanup_err = {0};
	json_t *json cleanup_json = json_loads(clusters[shape], 0, NULL);
	struct cluster *cluster = cluster_from_json(job, json, &err);

	if (!cluster)
		BUG("fixture: %s", err_message(&err));
	return cluster;
}

void fixture_task(const struct job *job, const struct cluster *cluster, const char *type, int index,
		  struct framework_task *task)
{
	*task = (struct framework_task){
		.job = job,
		.cluster = cluster,
		.type = (size_t)job_find_type(job, type),
		.index = index,
		.attempt = 1,
		.am_attempt = 1,
		.ui_port = 6006,
		.am_url = "http://127.0.0.1:4000",
		.cluster_file = "/state/jobs/j/containers/c/cluster.json",
		.work_dir = "/state/jobs/j/containers/c/work",
	};
}
