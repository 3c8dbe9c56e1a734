#include "executor/run.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "executor/progress.h"
#include "executor/secrets.h"
#include "framework/framework.h"
#include "job/task_variables.h"

static int write_cluster(const char *path, const json_t *cluster, struct err *err)
{
	char *text cleanup_free = json_text(cluster);

	return fs_write_private(path, text, strlen(text), err);
}

static int write_secret(const char *path, const struct settings *settings, struct err *err)
{
	char *secret cleanup_free = framework_secret(settings->job, settings->token);

	return secret ? fs_write_private(path, secret, strlen(secret), err) : 0;
}

static int count_processes(const struct run *run)
{
	const struct job *job = run->settings->job;

	return framework_process_count(job, &job->types[run->settings->type]);
}

/* Jobs that the program submits do not inherit what tells which task it is. */
static void name_own(const struct job_type *type, const struct str_list *before,
		     struct environment *environment)
{
	const struct environment users = {type->environment};
	struct str names cleanup_str = {0};

	for (size_t i = 0; i < environment->entries.count; i++) {
		const char *entry = environment->entries.items[i];
		char *name cleanup_free = mem_strndup(entry, strcspn(entry, "="));
		if (!str_list_has(before, entry) && !task_variables_have(name) &&
		    !environment_get(&users, name))
			str_append_format(&names, "%s%s", names.length > 0 ? " " : "", name);
	}
	environment_set(environment, "TONY_TASK_VARIABLES", str_text(&names));
}

static int fill(const struct run *run, struct framework_task *task,
		struct environment *environments, struct str_list *commands, struct err *err)
{
	for (int i = 0; i < count_processes(run); i++) {
		char *progress cleanup_free =
			progress_path(run->settings->progress_file, (size_t)i);
		unlink(progress); /* how far the last one came is not this one's */
		task->process = i;
		task->progress_file = progress;
		struct str_list before cleanup_str_list = {0};
		settings_copy_environment(&environments[i]);
		str_list_copy(&before, &environments[i].entries);
		if (framework_environment(task, &environments[i], err) < 0)
			return err_wrap(err, "environment");
		secrets_set(run->settings, &environments[i]);
		name_own(&run->settings->job->types[run->settings->type], &before,
			 &environments[i]);
		char *command = framework_command(task, err);
		if (!command)
			return err_wrap(err, "command");
		str_list_take(commands, command);
	}
	return 0;
}

struct environment *run_prepare(const struct run *run, struct str_list *commands, struct err *err)
{
	const struct settings *settings = run->settings;
	const struct job_type *type = &settings->job->types[settings->type];
	char *path cleanup_free = fs_join(settings->container_dir, "cluster.json");
	char *secret cleanup_free = fs_join(settings->container_dir, "secret");
	char *am_url cleanup_free = mem_printf("http://%s", run->am_address);

	struct cluster *cluster = cluster_from_json(settings->job, run->cluster, err);
	if (!cluster)
		return NULL;
	int index = cluster_find(cluster, settings->type, settings->index);
	if (index < 0) {
		err_set(err, ERR_INPUT, "the cluster spec has no address for %s", settings->task);
		cluster_destroy(cluster);
		return NULL;
	}
	struct framework_task task = {
		.job = settings->job,
		.cluster = cluster,
		.type = settings->type,
		.slot = settings->index,
		.index = index,
		.attempt = settings->attempt,
		.restart = run->restart,
		.am_attempt = run->am_attempt,
		.ui_port = run->ui_port,
		.am_url = am_url,
		.cluster_file = path,
		.metrics_file = settings->metrics_file,
		.preempted_file = settings->preempted_file,
		.files_socket = run->files_socket,
		.token_file = settings->token_file,
		.secret_file = secret,
		.agent = settings->agent,
		.work_dir = settings->work_dir,
		.scratch_dir = settings->scratch_dir,
		.guardian = type->isolation == JOB_ISOLATION_NONE ? run->guardian : 0,
	};
	struct environment *environments =
		mem_alloc_array((size_t)count_processes(run), sizeof(*environments));
	unlink(settings->preempted_file);
	if (write_cluster(path, run->cluster, err) < 0 || write_secret(secret, settings, err) < 0 ||
	    secrets_write(settings, err) < 0 || fill(run, &task, environments, commands, err) < 0) {
		run_finish(run, environments);
		environments = NULL;
	}
	cluster_destroy(cluster);
	return environments;
}

void run_finish(const struct run *run, struct environment *environments)
{
	for (int i = 0; environments && i < count_processes(run); i++)
		environment_finish(&environments[i]);
	free(environments);
}
