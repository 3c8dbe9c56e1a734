#include "executor/settings.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "hadoop/container.h"

static int need(const char *name, const char **value, struct err *err)
{
	*value = getenv(name);
	if (!*value || !**value)
		return err_set(err, ERR_USAGE,
			       "%s is not set: executors are started by a scheduler", name);
	return 0;
}

/* ---- started by the local scheduler ------------------------------------------------------- */

static int read_places(struct settings *settings, struct err *err)
{
	const char *directory, *token_file, *job_file;

	if (need("TONY_CONTAINER_DIR", &directory, err) < 0 ||
	    need("TONY_TOKEN_FILE", &token_file, err) < 0 ||
	    need("TONY_JOB_FILE", &job_file, err) < 0)
		return -1;
	settings->container_dir = mem_strdup(directory);
	settings->log_dir = mem_strdup(directory);
	settings->token_file = mem_strdup(token_file);
	settings->token = job_read_token(token_file, err);
	settings->job = settings->token ? job_read_file(job_file, err) : NULL;
	return settings->job ? 0 : -1;
}

/* ---- in a container of YARN --------------------------------------------------------------- */

/* For the program, which finds the token in a file. */
static int write_token(const struct settings *settings, struct err *err)
{
	if (fs_make_directories(settings->container_dir, 0700, err) < 0)
		return -1;
	return fs_write_volatile(settings->token_file, settings->token, strlen(settings->token),
				 0600, err);
}

static int read_container(struct settings *settings, struct err *err)
{
	struct hadoop_container container = {0};

	if (hadoop_container_read(&container, err) < 0)
		return -1;
	settings->container_dir = fs_join(container.work_dir, ".tony");
	settings->log_dir = mem_steal(&container.log_dir);
	settings->token_file = fs_join(settings->container_dir, "token");
	/* YARN's own is a directory that is nobody's ("/home/"): pip and caches fail there. What
	 * the job sets comes after this. */
	setenv("HOME", container.work_dir, 1);
	hadoop_container_finish(&container);
	settings->token = hadoop_container_token(err);
	if (!settings->token || write_token(settings, err) < 0)
		return -1;
	settings->job = hadoop_container_job(err);
	return settings->job ? 0 : -1;
}

/* ------------------------------------------------------------------------------------------- */

static void take_checkpoint_dir(struct settings *settings)
{
	char **directory = &settings->job->checkpoint_dir;

	if (!*directory || !str_starts_with(*directory, "hdfs://"))
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
	char *own = fs_join(*directory, name);
	if (str_starts_with(*directory, "hdfs://")) {
		settings->output_base = mem_steal(directory);
		settings->output_url = own;
		*directory = fs_join(settings->container_dir, "output");
		return 0;
	}
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
	/* A local job may itself have been submitted in a container of YARN. */
	bool is_local = getenv("TONY_JOB_FILE") || !hadoop_container_is_here();

	if (need("TONY_AM_ADDRESS", &settings->am_address, err) < 0 ||
	    need("TONY_HOST", &settings->host, err) < 0 ||
	    need("TONY_CONTAINER", &settings->container, err) < 0 ||
	    (is_local ? read_places(settings, err) : read_container(settings, err)) < 0 ||
	    read_task(settings, err) < 0)
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
	settings->am_moves = !is_local;
	settings->agent = realpath("/proc/self/exe", NULL);
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
	if (settings->token)
		explicit_bzero(settings->token, strlen(settings->token));
	free(settings->token);
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
	free(settings->output_base);
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
