#include "framework/variables.h"

#include "base/json.h"
#include "base/mem.h"

/* mlflow.start_run() goes on with the job's run. Where programs shall have their own, those get the
 * tag by which MLflow shows them below it. */
static void add_run(const struct framework_task *task, struct environment *environment)
{
	const char *run = task->cluster->tracking_run;
	json_t *tags cleanup_json = json_object();

	if (!run)
		return;
	if (!task->job->tracking_nests) {
		environment_set(environment, "MLFLOW_RUN_ID", run);
		return;
	}
	json_set_text(tags, "mlflow.parentRunId", run);
	char *text cleanup_free = json_text(tags);
	environment_set(environment, "MLFLOW_RUN_CONTEXT", text);
}

/* A process that starts again goes on with its run. */
static void add_wandb(const struct framework_task *task, struct environment *environment)
{
	const struct job *job = task->job;
	const struct job_type *type = &job->types[task->type];
	char *tags cleanup_free = str_list_join(&job->tags, ",");
	char *process cleanup_free =
		type->processes > 1 ? mem_printf("-%d", task->process) : mem_strdup("");

	environment_set(environment, "WANDB_RUN_GROUP", job->id);
	environment_set_format(environment, "WANDB_RUN_ID", "%s-%s-%d%s", job->id, type->name,
			       task->slot, process);
	environment_set_format(environment, "WANDB_NAME", "%s %s:%d%s", job->name, type->name,
			       task->slot, process);
	environment_set(environment, "WANDB_RESUME", "allow");
	environment_set(environment, "WANDB_JOB_TYPE", type->name);
	if (*tags)
		environment_set(environment, "WANDB_TAGS", tags);
	if (job->output_dir)
		environment_set(environment, "WANDB_DIR", job->output_dir);
}

void variables_add_tracking(const struct framework_task *task, struct environment *environment)
{
	const struct job *job = task->job;

	if (job->tracking_uri) {
		environment_set(environment, "MLFLOW_TRACKING_URI", job->tracking_uri);
		environment_set(environment, "MLFLOW_EXPERIMENT_NAME", job_experiment(job));
		add_run(task, environment);
	}
	if (job->tracking_wandb)
		add_wandb(task, environment);
}
