#include "executor/settings.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "store/access.h"

static int need(const char *name, const char **value, struct err *err)
{
	*value = getenv(name);
	if (!*value || !**value)
		return err_set(err, ERR_USAGE,
			       "%s is not set: executors are started by a scheduler", name);
	return 0;
}

/* This program's file. After an upgrade under a running job the kernel has "PATH (deleted)" for it:
 * programs that are started by name get the new one. The caller frees. */
static char *find_agent(void)
{
	static const char deleted[] = " (deleted)";
	char path[PATH_MAX];
	const ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

	path[length > 0 ? length : 0] = '\0';
	if (!fs_exists(path) && str_ends_with(path, deleted))
		path[strlen(path) - strlen(deleted)] = '\0';
	return mem_strdup(path);
}

static int find_container(struct settings *settings, struct err *err)
{
	struct scheduler_container found = {0};
	const struct scheduler_ops *ops = scheduler_find_container(&found, err);

	settings->scheduler = ops;
	settings->job = found.job;
	settings->token = found.token;
	settings->token_file = found.token_file;
	settings->container_dir = found.dir;
	settings->log_dir = found.log_dir;
	settings->kill_notice_ms = found.kill_notice_ms;
	return ops ? 0 : -1;
}

static void take_checkpoint_dir(struct settings *settings)
{
	char **directory = &settings->job->checkpoint_dir;

	if (!*directory || !store_access_reaches(settings->job->stores, *directory))
		return;
	settings->checkpoint_url = mem_steal(directory);
	*directory = fs_join(settings->container_dir, "checkpoint");
}

/* Each task has a directory of its own, the same in every attempt. */
static int take_output_dir(struct settings *settings, struct err *err)
{
	char **directory = &settings->job->output_dir;

	if (!*directory)
		return 0;
	char *name cleanup_free = job_output_name(settings->job, settings->type, settings->index);
	if (store_access_reaches(settings->job->stores, *directory)) {
		settings->output_url = mem_steal(directory);
		settings->output_name = mem_steal(&name);
		*directory = fs_join(settings->container_dir, "output");
		return 0;
	}
	char *own = fs_join(*directory, name);
	mem_replace(directory, own);
	if (fs_make_directories(own, 0700, err) < 0)
		return err_wrap(err, "the directory for the results");
	return 0;
}

static int read_task(struct settings *settings, struct err *err)
{
	const char *attempt;
	int64_t number;

	if (need("TONY_TASK", &settings->task, err) < 0 ||
	    need("TONY_TASK_ATTEMPT", &attempt, err) < 0)
		return -1;
	const char *colon = strrchr(settings->task, ':');
	char *name cleanup_free =
		mem_strndup(settings->task, colon ? (size_t)(colon - settings->task) : 0);
	int type = job_find_type(settings->job, name);
	if (type < 0 || str_parse_int(colon + 1, 0, job_type_slots(&settings->job->types[type]) - 1,
				      &number) < 0)
		return err_set(err, ERR_USAGE, "TONY_TASK: the job has no task \"%s\"",
			       settings->task);
	settings->type = (size_t)type;
	settings->index = (int)number;
	if (str_parse_int(attempt, 1, INT_MAX, &number) < 0)
		return err_set(err, ERR_USAGE, "TONY_TASK_ATTEMPT: \"%s\" is not a number from 1",
			       attempt);
	settings->attempt = (int)number;
	return 0;
}

static void take_lifeline(struct settings *settings)
{
	const char *text = getenv("TONY_LIFELINE_FD");
	int64_t number;

	settings->lifeline = -1;
	if (text && str_parse_int(text, 0, INT_MAX, &number) == 0)
		settings->lifeline = (int)number;
}

int settings_read(struct settings *settings, struct err *err)
{
	const char *watch = getenv("TONY_MEMORY_WATCH");

	if (need("TONY_AM_ADDRESS", &settings->am_address, err) < 0 ||
	    need("TONY_HOST", &settings->host, err) < 0 ||
	    need("TONY_CONTAINER", &settings->container, err) < 0 ||
	    find_container(settings, err) < 0 || read_task(settings, err) < 0)
		return -1;
	take_checkpoint_dir(settings);
	if (take_output_dir(settings, err) < 0)
		return -1;
	if (settings->job->metrics_interval_ms > 0)
		settings->metrics_file = fs_join(settings->container_dir, "metrics.jsonl");
	settings->preempted_file = fs_join(settings->container_dir, "preempted");
	settings->progress_file = fs_join(settings->container_dir, "progress");
	take_lifeline(settings);
	settings->cgroup = getenv("TONY_CGROUP");
	settings->memory_watch = str_equal(watch, "1");
	settings->agent = find_agent();
	settings->scratch_dir = getcwd(NULL, 0);
	if (!settings->scratch_dir)
		return err_set_errno(err, "the working directory");
	const char *shared = settings->job->work_dir;
	settings->work_dir = mem_strdup(shared ? shared : settings->scratch_dir);
	return 0;
}

void settings_finish(struct settings *settings)
{
	job_destroy(settings->job);
	mem_free_secret(settings->token);
	free(settings->agent);
	free(settings->work_dir);
	free(settings->scratch_dir);
	free(settings->container_dir);
	free(settings->log_dir);
	free(settings->token_file);
	free(settings->metrics_file);
	free(settings->progress_file);
	free(settings->preempted_file);
	free(settings->checkpoint_url);
	free(settings->output_url);
	free(settings->output_name);
	*settings = (struct settings){0};
}

void settings_copy_environment(struct environment *environment)
{
	/* MALLOC_ARENA_MAX: set for launchers to save memory, it slows down programs with many
	 * threads, and TonY removes it, too. */
	static const char *const own[] = {
		"TONY_JOB_FILE",     "TONY_AM_ADDRESS", "TONY_CONTAINER_DIR", "TONY_CGROUP",
		"TONY_MEMORY_WATCH", "TONY_LEDGER_FD",	"TONY_LIFELINE_FD",   "MALLOC_ARENA_MAX",
	};

	environment_inherit(environment);
	for (size_t i = 0; i < array_length(own); i++)
		environment_remove(environment, own[i]);
}
