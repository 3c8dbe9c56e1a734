#include "scheduler/local_child.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"
#include "job/task_variables.h"
#include "scheduler/local_internal.h"
#include "scheduler/local_spawn.h"
#include "scheduler/state_dir.h"

#define ENVIRONMENT_CAP ((size_t)8 << 20)

struct local_child {
	struct child process;
	char *job_id;
	LIST_ENTRY(local_child) link;
};

/* ---- in the child ------------------------------------------------------------------------- */

struct preparation {
	const struct job *parent;
	const char *environment;
	size_t length;
	mode_t umask;
};

/* Of the machine's GPUs the AM's own environment tells, and the task's only which are its own. */
static const char *const machines[] = {"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES",
				       "CUDA_DEVICE_ORDER"};

static bool is_machines(const char *name)
{
	for (size_t i = 0; i < array_length(machines); i++)
		if (str_equal(machines[i], name))
			return true;
	return false;
}

static void take_variable(const struct str_list *named, const char *entry)
{
	const char *value = strchr(entry, '=');
	char *name cleanup_free = value ? mem_strndup(entry, (size_t)(value - entry)) : NULL;

	if (name && *name && !task_variables_have(name) && !str_list_has(named, name) &&
	    !is_machines(name))
		setenv(name, value + 1, 1);
}

/* The value of a variable that its submitter has; NULL: it has none. */
static const char *find_variable(const struct preparation *preparation, const char *name)
{
	size_t length = strlen(name);

	for (size_t at = 0; at < preparation->length;
	     at += strlen(preparation->environment + at) + 1) {
		const char *entry = preparation->environment + at;
		if (strncmp(entry, name, length) == 0 && entry[length] == '=')
			return entry + length + 1;
	}
	return NULL;
}

static void enter_environment(void *data)
{
	const struct preparation *preparation = data;
	const char *list = find_variable(preparation, "TONY_TASK_VARIABLES");
	struct str_list named cleanup_str_list = {0};
	char *mark cleanup_free = job_child_mark(preparation->parent);
	char *own[array_length(machines)];

	for (size_t i = 0; i < array_length(machines); i++)
		own[i] = mem_strdup(getenv(machines[i]));
	str_split(&named, list ? list : "", ' ');
	clearenv();
	for (size_t at = 0; at < preparation->length;
	     at += strlen(preparation->environment + at) + 1)
		take_variable(&named, preparation->environment + at);
	for (size_t i = 0; i < array_length(machines); i++)
		if (own[i])
			setenv(machines[i], own[i], 1);
	char *value = strchr(mark, '=');
	*value = '\0';
	setenv(mark, value + 1, 1);
	umask(preparation->umask);
}

/* ---- in the AM ---------------------------------------------------------------------------- */

static int check(const struct local *local, const char *job_id, const char *job_dir,
		 struct err *err)
{
	char *path cleanup_free = fs_join(job_dir, "job.json");

	struct job *job = job_read_file(path, err);
	if (!job)
		return -1;
	bool is_child = str_equal(job->id, job_id) && str_equal(job->parent, local->job->id);
	job_destroy(job);
	return is_child ? 0
			: err_set(err, ERR_INPUT, "%s is no job that was submitted within this one",
				  job_id);
}

static void free_child(struct local_child *child)
{
	LIST_REMOVE(child, link);
	free(child->job_id);
	free(child);
}

static void on_ended(void *data, int status)
{
	free_child(data);
}

static int watch(struct local *local, const char *job_id, pid_t pid, struct err *err)
{
	struct local_child *child = mem_alloc(sizeof(*child));

	if (child_watch(&child->process, local->base, pid, on_ended, child, err) < 0) {
		free(child);
		return -1;
	}
	child->job_id = mem_strdup(job_id);
	LIST_INSERT_HEAD(&local->children, child, link);
	return 0;
}

/* The first of its processes: an AM before this one was killed before it could answer. */
static pid_t find_am_of(const char *job_id)
{
	char *mark cleanup_free = mem_printf("TONY_JOB_ID=%s", job_id);
	struct proc_list list;
	size_t first = 0;

	proc_find_marked(mark, 0, &list);
	for (size_t i = 1; i < list.count; i++)
		if (list.items[i].start_time < list.items[first].start_time)
			first = i;
	pid_t pid = list.count > 0 ? list.items[first].pid : 0;
	proc_list_finish(&list);
	return pid;
}

/* The client asks again when it had no answer in time. 0: it has no AM yet. */
static pid_t find_started(const struct local *local, const char *job_id, const char *job_dir)
{
	const struct local_child *child;

	LIST_FOREACH(child, &local->children, link)
	if (str_equal(child->job_id, job_id))
		return child->process.pid;
	return state_dir_is_held(job_dir) ? find_am_of(job_id) : 0;
}

pid_t local_child_start(struct scheduler *scheduler, const struct scheduler_child *child,
			struct err *err)
{
	struct local *local = (struct local *)scheduler;
	struct preparation preparation = {.parent = local->job, .umask = child->umask};
	const char *job_id = child->job_id;

	if (!state_dir_is_job_id(job_id))
		return err_set(err, ERR_INPUT, "\"%s\" is no job's id", job_id);
	char *jobs cleanup_free = fs_dirname(local->job_dir);
	char *job_dir cleanup_free = fs_join(jobs, job_id);
	if (check(local, job_id, job_dir, err) < 0)
		return -1;
	pid_t started = find_started(local, job_id, job_dir);
	if (started > 0)
		return started;
	char *path cleanup_free = fs_join(job_dir, LOCAL_ENVIRONMENT_FILE);
	char *bytes =
		fs_read_secret(path, "an environment", ENVIRONMENT_CAP, &preparation.length, err);
	if (!bytes)
		return -1;
	unlink(path); /* its client may have been killed */
	preparation.environment = bytes;
	pid_t pid = local_spawn_am(child->agent, job_id, job_dir, &(struct local_signs){-1, -1},
				   enter_environment, &preparation, err);
	explicit_bzero(bytes, preparation.length);
	free(bytes);
	return pid < 0 || watch(local, job_id, pid, err) < 0 ? -1 : pid;
}

void local_children_forget(struct local *local)
{
	struct local_child *child;

	while ((child = LIST_FIRST(&local->children))) {
		child_forget(&child->process);
		free_child(child);
	}
}
