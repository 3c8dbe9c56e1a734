#include "scheduler/local_logs.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/user.h"
#include "logs/file.h"
#include "logs/names.h"
#include "scheduler/local_history.h"
#include "scheduler/local_job.h"
#include "scheduler/local_spawn.h"
#include "scheduler/local_start.h"
#include "scheduler/state_dir.h"

struct local_logs {
	struct job_logs base;
	char *job_dir;
};

static char *find_directory(const struct job_logs *base, const struct log_place *place)
{
	const struct local_logs *logs = (const struct local_logs *)base;

	return place ? local_container_directory(logs->job_dir, place->type, place->index,
						 place->attempt)
		     : fs_join(logs->job_dir, "containers");
}

/* A place that cannot be looked at is an error (-1) other than ERR_NOT_FOUND. */
static int find_file(const char *path, struct err *err)
{
	struct stat info;

	if (lstat(path, &info) < 0 && errno != ENOENT && errno != ENOTDIR)
		return err_set_errno(err, "%s", path);
	if (lstat(path, &info) < 0 || !S_ISREG(info.st_mode))
		return err_set(err, ERR_NOT_FOUND, "there is no %s", path);
	return 0;
}

static struct log_source *open_file(const char *path, int attempt, struct err *err)
{
	if (find_file(path, err) < 0)
		return NULL;
	struct log_source *log = log_file_open(path);
	log->attempt = attempt;
	return log;
}

static struct log_source *open_log(struct job_logs *logs, const struct log_place *place,
				   const char *name, struct err *err)
{
	char *directory cleanup_free = find_directory(logs, place);
	char *path cleanup_free = fs_join(directory, name);

	return open_file(path, place->attempt, err);
}

/* All AMs write one file. */
static struct log_source *open_am(struct job_logs *base, const struct log_place *place,
				  struct err *err)
{
	const struct local_logs *logs = (const struct local_logs *)base;
	char *path cleanup_free = fs_join(logs->job_dir, LOCAL_AM_LOG);

	return open_file(path, place->attempt, err);
}

static int list_logs(struct job_logs *logs, const struct log_place *place, struct str_list *names,
		     struct err *err)
{
	char *path cleanup_free = find_directory(logs, place);
	DIR *directory cleanup_dir = opendir(path);
	const struct dirent *entry;

	if (!directory)
		return err_set_errno(err, "%s", path);
	while ((entry = readdir(directory))) {
		char *file cleanup_free = fs_join(path, entry->d_name);
		char *log = log_name_of_file(entry->d_name);
		if (log && find_file(file, NULL) == 0)
			str_list_take(names, log);
		else
			free(log);
	}
	return 0;
}

static void destroy_logs(struct job_logs *base)
{
	struct local_logs *logs = (struct local_logs *)base;

	free(logs->job_dir);
	free(logs);
}

static struct job_logs *create_logs(const char *job_dir)
{
	static const struct job_logs_ops ops = {.open = open_log,
						.open_am = open_am,
						.list = list_logs,
						.directory = find_directory,
						.destroy = destroy_logs};
	struct local_logs *logs = mem_alloc(sizeof(*logs));

	logs->base = (struct job_logs){.ops = &ops, .are_here = true};
	logs->job_dir = mem_strdup(job_dir);
	return &logs->base;
}

struct job_logs *local_logs(const struct job_door *door, const struct job *job, struct err *err)
{
	return create_logs(door->job_dir);
}

struct job_logs *local_logs_shown(const struct job *job, const char *id, const char *owner,
				  struct err *err)
{
	char *own cleanup_free = user_name_of(geteuid());
	char *state cleanup_free = str_equal(owner, own) ? state_dir_find(NULL) : NULL;
	char *job_dir cleanup_free =
		state && state_dir_is_job_id(id)
			? state_dir_job(state, scheduler_traits_of(job)->folder, id)
			: NULL;

	if (job_dir && local_job_is_there(job_dir) && !state_dir_is_cleared(job_dir, false))
		return create_logs(job_dir);
	err_set(err, ERR_NOT_FOUND, "the folder of the job is not here any more");
	return NULL;
}
