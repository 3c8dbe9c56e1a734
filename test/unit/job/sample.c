#include "sample.h"

#include <stdlib.h>

#include "base/fs.h"
#include "base/mem.h"

static struct job_type *add(struct job *job, const char *name, int instances, enum job_role role)
{
	struct job_type *type = &job->types[job->type_count++];

	*type = (struct job_type){
		.name = mem_strdup(name),
		.instances = instances,
		.processes = 1,
		.memory = 2048,
		.vcores = 2,
		.command = mem_strdup("python3 train.py --epochs 3"),
		.role = role,
		.stop_grace_ms = 5000,
	};
	return type;
}

static void fill_worker(struct job_type *worker)
{
	static const struct job_file files[] = {
		{JOB_FILE_CONTENT, "/jobs/files/src", "."},
		{JOB_FILE_ARCHIVE, "hdfs://nn:8020/venv.tar.gz", "venv"},
		{JOB_FILE_LINK, "/data/digits", "data/digits"},
	};

	worker->processes = 4;
	worker->gpus = 4;
	worker->stop_on_failure = true;
	worker->max_restarts = 2;
	worker->hold_port = true;
	worker->isolation = JOB_ISOLATION_PID_NAMESPACE;
	worker->node_label = mem_strdup("fast");
	worker->docker_image = mem_strdup("debian:12");
	worker->stdin_file = mem_strdup("container:tony-stdin");
	str_list_add(&worker->environment, "SEED={{task.index}}");
	str_list_add(&worker->environment, "GREETING=grüß dich = hallo");
	worker->files.items = mem_alloc_array(array_length(files), sizeof(*files));
	for (size_t i = 0; i < array_length(files); i++)
		worker->files.items[worker->files.count++] = (struct job_file){
			files[i].kind, mem_strdup(files[i].source), mem_strdup(files[i].name)};
	worker->dependencies = mem_alloc(sizeof(*worker->dependencies));
	worker->dependencies[worker->dependency_count++] = (struct job_dependency){.type = 0};
}

static void fill_group_timeout(struct job *job)
{
	job->group_timeouts = mem_alloc(sizeof(*job->group_timeouts));
	job->group_timeout_count = 1;
	*job->group_timeouts = (struct job_group_timeout){
		.type = 1,
		.group = mem_strdup("leaders"),
		.members = mem_alloc_array(2, sizeof(size_t)),
		.member_count = 2,
		.timeout_ms = 3600000,
		.ignored = true,
	};
	job->group_timeouts->members[0] = 0;
	job->group_timeouts->members[1] = 2;
}

struct job *sample_job(void)
{
	struct job *job = mem_alloc(sizeof(*job));

	*job = (struct job){
		.id = mem_strdup("tony-20261121-061400-1f3a"),
		.name = mem_strdup("digits"),
		.user = mem_strdup("ada"),
		.framework = mem_strdup("tensorflow"),
		.scheduler = mem_strdup("yarn"),
		.queue = mem_strdup("ml"),
		.mode = JOB_MODE_FCFS,
		.submitted_ms = 1795241640000,
		.fail_fast = true,
		.stop_after_chief = true,
		.retry_count = 3,
		.infrastructure_retry_count = 10,
		.retry_delay_ms = 1000,
		.application_timeout_ms = 1,
		.allocation_timeout_ms = 2,
		.registration_timeout_ms = 3,
		.execution_timeout_ms = 4,
		.executor_give_up_ms = 25000,
		.heartbeat_interval_ms = 1000,
		.max_missed_heartbeats = 25,
		.metrics_interval_ms = 5000,
		.gpu_metrics = true,
		.gpu_command = mem_strdup("nvidia-smi"),
		.error_lines = 20,
		.log_rotate_bytes = 64 << 20,
		.log_keep = 3,
		.work_dir = mem_strdup("/home/ada/digits"),
		.checkpoint_dir = mem_strdup("/jobs/checkpoint"),
		.tensorboard_log_dir = mem_strdup("/jobs/tb"),
		.config = json_pack("{s{ssss}}", "tony.application.name", "value", "digits",
				    "origin", "tony.xml:3"),
		.engine = json_pack("{ss}", "user", "ada"),
		.stores = json_pack("{s{ss}}", "hdfs", "fs", "hdfs://nn:8020"),
	};
	job->types = mem_alloc_array(4, sizeof(*job->types));
	str_list_add(&job->tags, "nightly");
	add(job, "prepare", 1, JOB_ROLE_TRACKED);
	fill_worker(add(job, "worker", 2, JOB_ROLE_TRACKED));
	add(job, "ps", 1, JOB_ROLE_UNTRACKED);
	add(job, "tensorboard", 1, JOB_ROLE_SIDECAR)->vcores = 0;
	fill_group_timeout(job);
	return job;
}

int sample_setup(void **state)
{
	char name[] = "/tmp/tony-test-job-XXXXXX";

	*state = mkdtemp(name) ? mem_strdup(name) : NULL;
	return *state ? 0 : -1;
}

int sample_finish(void **state)
{
	int result = fs_remove_tree(*state, NULL);

	free(*state);
	return result;
}

char *sample_path(void **state, const char *name)
{
	return fs_join(*state, name);
}
