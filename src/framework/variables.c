#include "framework/variables.h"

#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "framework/address.h"

static void set_text(struct environment *environment, const char *key, const char *value)
{
	if (value)
		environment_set(environment, key, value);
}

void variables_add_tony(const struct framework_task *task, struct environment *environment)
{
	const struct job *job = task->job;
	const struct job_type *type = &job->types[task->type];
	const struct cluster_address *address = address_of_task(task);

	environment_set(environment, "TONY_JOB_ID", job->id);
	set_text(environment, "TONY_JOB_NAME", job->name);
	set_text(environment, "TONY_FRAMEWORK", job->framework);
	environment_set_format(environment, "TONY_TASK", "%s:%d", type->name, task->slot);
	environment_set(environment, "TONY_TASK_TYPE", type->name);
	environment_set_format(environment, "TONY_TASK_INDEX", "%d", task->index);
	environment_set_format(environment, "TONY_TASK_COUNT", "%d",
			       cluster_count(task->cluster, job, task->type));
	environment_set_format(environment, "TONY_PROCESS", "%d", task->process);
	environment_set_format(environment, "TONY_PROCESS_COUNT", "%d", type->processes);
	environment_set_format(environment, "TONY_EPOCH", "%d", task->cluster->epoch);
	environment_set_format(environment, "TONY_TASK_ATTEMPT", "%d", task->attempt);
	environment_set_format(environment, "TONY_RESTART", "%d", task->restart);
	if (job->array) {
		environment_set(environment, "TONY_ARRAY_ID", job->array);
		environment_set_format(environment, "TONY_ARRAY_TASK_ID", "%lld",
				       (long long)job->array_index);
	}
	if (job->sweep && !job_is_sweep(job)) {
		environment_set(environment, "TONY_SWEEP", job->sweep);
		environment_set_format(environment, "TONY_TRIAL", "%lld", (long long)job->trial);
	}
	set_text(environment, "TONY_CHECKPOINT_DIR", job->checkpoint_dir);
	set_text(environment, "TONY_OUTPUT_DIR", job->output_dir);
	set_text(environment, "TONY_CLUSTER_FILE", task->cluster_file);
	set_text(environment, "TONY_METRICS_FILE", task->metrics_file);
	set_text(environment, "TONY_PROGRESS_FILE", task->progress_file);
	set_text(environment, "TONY_PREEMPTED", task->preempted_file);
	set_text(environment, "TONY_AM_URL", task->am_url);
	set_text(environment, "TONY_FILES", task->files_socket);
	set_text(environment, "TONY_TOKEN_FILE", task->token_file);
	set_text(environment, "TONY_AGENT", task->agent);
	if (address) {
		environment_set(environment, "TONY_HOST", address->host);
		environment_set_format(environment, "TONY_PORT", "%d", address->port);
	}
}

/* AM_HOST and AM_PORT from "http://host:port". */
static void add_am(const char *url, struct environment *environment)
{
	const char *host = url ? strstr(url, "://") : NULL;
	const char *colon = host ? strrchr(host + 3, ':') : NULL;

	if (!colon)
		return;
	host += 3;
	size_t length = (size_t)(colon - host);
	if (length > 2 && host[0] == '[') {
		host++;
		length -= 2;
	}
	environment_set_format(environment, "AM_HOST", "%.*s", (int)length, host);
	environment_set(environment, "AM_PORT", colon + 1);
}

static int tracked_tasks(const struct framework_task *task)
{
	int count = 0;

	for (size_t i = 0; i < task->job->type_count; i++)
		if (task->job->types[i].role == JOB_ROLE_TRACKED)
			count += cluster_count(task->cluster, task->job, i);
	return count;
}

/* Of the first process only: the others cannot bind the same port. */
static void add_tensorboard(const struct framework_task *task, struct environment *environment)
{
	const struct job *job = task->job;

	if (task->process != 0 || task->ui_port == 0 ||
	    !framework_owns_tensorboard(job, task->type, task->slot))
		return;
	environment_set_format(environment, "TB_PORT", "%d", task->ui_port);
	environment_set_format(environment, "TONY_UI_PATH", "/ui/%s/", framework_ui_name(job));
}

void variables_add_compatible(const struct framework_task *task, struct environment *environment)
{
	const struct job *job = task->job;
	int retries = task->cluster->epoch - 1;

	environment_set(environment, "appid", job->id);
	environment_set(environment, "JOB_ID", job->id);
	environment_set(environment, "JOB_NAME", job->types[task->type].name);
	environment_set_format(environment, "TASK_INDEX", "%d", task->index);
	environment_set_format(environment, "TASK_NUM", "%d", tracked_tasks(task));
	environment_set(environment, "DISTRIBUTED_MODE",
			job->mode == JOB_MODE_GANG ? "GANG" : "FCFS");
	environment_set_format(environment, "SESSION_ID", "%d", retries);
	environment_set_format(environment, "ATTEMPT_NUMBER", "%d", task->am_attempt - 1);
	if (retries > 0)
		environment_set_format(environment, "NUM_AM_RETRIES", "%d", retries);
	if (job_is_chief(job, task->type, task->index))
		environment_set(environment, "IS_CHIEF", "true");
	if (framework_is_single_node(job))
		environment_set(environment, "PREPROCESSING_JOB", "true");
	add_am(task->am_url, environment);
	add_tensorboard(task, environment);
	set_text(environment, "TB_LOG_DIR", job->tensorboard_log_dir);
}

void variables_add_cluster_spec(const struct framework_task *task, struct environment *environment)
{
	json_t *spec cleanup_json = json_object();

	for (size_t i = 0; i < task->cluster->type_count; i++)
		json_object_set_new(spec, task->cluster->types[i].name,
				    address_list_to_json(&task->cluster->types[i]));
	char *text cleanup_free = json_text(spec);
	if (strlen(text) + sizeof("CLUSTER_SPEC=") <= ENVIRONMENT_ENTRY_MAX)
		environment_set(environment, "CLUSTER_SPEC", text);
}
