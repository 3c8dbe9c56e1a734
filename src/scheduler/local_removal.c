#include "scheduler/local_removal.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "scheduler/local_job.h"
#include "scheduler/local_sources.h"
#include "scheduler/state_dir.h"

#define HOLD_WAIT_MS	 5000 /* for whoever holds the folder of another job */
#define LEAVING_PAUSE_US 20000

/* ---- what others use ---------------------------------------------------------------------- */

/* As the kernel sees it, whatever links lead there. The caller frees. */
static char *resolve(const char *path)
{
	char *real = realpath(path, NULL);

	return real ? real : mem_strdup(path);
}

static void note_used(struct removal_use *use, const char *id, const char *path)
{
	if (!path || path[0] != '/')
		return;
	char *real cleanup_free = resolve(path);
	removal_note_use(use, id, real);
}

/* "NODE=JOB": a live pipeline's job takes the results of another. */
static void note_source(struct removal_use *use, const struct job *job, const char *job_dir,
			const char *text)
{
	const char *equals = strchr(text, '=');
	char *jobs cleanup_free = fs_dirname(job_dir);
	char *path cleanup_free = equals ? fs_join(jobs, equals + 1) : NULL;

	if (equals && state_dir_is_job_id(equals + 1) && fs_is_directory(path))
		note_used(use, job->id, path);
}

/* A sweep that goes on in the directory of others has trials of the one that it repeats. */
static void note_resumed(struct removal_use *use, const struct job *job, const char *job_dir)
{
	char *jobs cleanup_free = fs_dirname(job_dir);
	char *path cleanup_free = job->rerun_of ? fs_join(jobs, job->rerun_of) : NULL;

	if (path && job_is_sweep(job) && job->checkpoint_dir &&
	    !fs_is_below(job->checkpoint_dir, job_dir))
		note_used(use, job->id, path);
}

/* One may go on with the checkpoints of another. */
static void note_job(struct removal_use *use, const char *job_dir)
{
	char *description cleanup_free = fs_join(job_dir, "job.json");
	struct job *job = job_read_file(description, NULL);

	if (!job)
		return;
	const char *paths[] = {job->checkpoint_dir, job->work_dir,
			       job->results_dir ? job->output_dir : NULL};
	for (size_t i = 0; i < array_length(paths); i++)
		if (paths[i] && !fs_is_below(paths[i], job_dir))
			note_used(use, job->id, paths[i]);
	note_resumed(use, job, job_dir);
	for (size_t i = 0; !use->of_ended && i < job->uses.count; i++)
		note_source(use, job, job_dir, job->uses.items[i]);
	job_destroy(job);
}

static void look_at_job(struct removal *removal, const char *job_dir)
{
	if (!local_job_is_there(job_dir))
		return;
	removal_use_see(&removal->here, fs_basename(job_dir));
	if (!local_job_is_idle(job_dir))
		note_job(&removal->here, job_dir);
	note_job(&removal->kept_here, job_dir);
}

/* Of a thousand jobs that are removed, each looks: what was looked at lately costs no more than its
 * name. */
static void look_at_jobs(struct removal *removal, const char *jobs)
{
	bool is_anew = removal_use_begin(&removal->here); /* jobs end at any time */

	if (is_anew)
		removal_use_forget(&removal->kept_here);
	removal->kept_here.of_ended = true;
	if (removal->is_dry && !is_anew)
		return;
	DIR *directory cleanup_dir = opendir(jobs);
	const struct dirent *entry;
	while (directory && (entry = readdir(directory))) {
		if (removal_use_has_seen(&removal->here, entry->d_name) ||
		    !state_dir_is_job_id(entry->d_name))
			continue;
		char *job_dir cleanup_free = fs_join(jobs, entry->d_name);
		look_at_job(removal, job_dir);
	}
}

static bool is_leaving(const char *job_dir)
{
	struct job_view *view;
	struct job *job;

	if (local_job_is_idle(job_dir) || local_job_read_end(job_dir, &job, &view) < 0)
		return false;
	job_view_destroy(view);
	job_destroy(job);
	return true;
}

/* Jobs that have ended, but whose AM still brings the history away, use nothing of the directory in
 * a moment. */
static void await_leaving(const struct removal *removal, const char *jobs, const char *directory)
{
	const struct removal_use *use = &removal->here;
	int64_t until = clock_monotonic_ms() + removal->wait_ms;

	for (size_t i = 0; i < use->jobs.count; i++) {
		char *job_dir cleanup_free = fs_join(jobs, use->jobs.items[i]);
		while (fs_is_below(use->paths.items[i], directory) &&
		       clock_monotonic_ms() < until && is_leaving(job_dir))
			usleep(LEAVING_PAUSE_US);
	}
}

int local_removal_check_unused(struct removal *removal, const char *job_dir, struct err *err)
{
	const char *id = fs_basename(job_dir);
	char *jobs cleanup_free = fs_dirname(job_dir), *real cleanup_free = resolve(job_dir);

	look_at_jobs(removal, jobs);
	if (removal_check_unused(removal, &removal->here, id, real, NULL) < 0) {
		removal->here.looked_ms = 0; /* that job may have ended since, or be removed */
		await_leaving(removal, jobs, real);
		look_at_jobs(removal, jobs);
	}
	return removal_check_unused(removal, &removal->here, id, real, err) < 0
		       ? -1
		       : removal_check_unused(removal, &removal->kept_here, id, real, err);
}

/* The id of the job in whose folder the path lies, as of checkpoints from which another job went
 * on; NULL: in none. The caller frees. */
static char *owner_of(const char *path, const char *jobs)
{
	size_t length = strlen(jobs);

	if (!fs_is_below(path, jobs) || strlen(path) <= length + 1)
		return NULL;
	char *id cleanup_free = mem_strndup(path + length + 1, strcspn(path + length + 1, "/"));
	return state_dir_is_job_id(id) ? mem_steal(&id) : NULL;
}

static int check_owner(const char *path, const char *jobs, struct err *err)
{
	char *real cleanup_free = resolve(path), *owner cleanup_free = owner_of(real, jobs);
	char *folder cleanup_free = owner ? fs_join(jobs, owner) : NULL;
	int64_t until = clock_monotonic_ms() + HOLD_WAIT_MS;
	int held cleanup_close = -1;

	if (!owner)
		return 0;
	/* Of one with an AM nothing is removed. */
	while (held < 0 && fs_is_directory(folder) && !local_job_has_door(folder) &&
	       clock_monotonic_ms() < until)
		held = state_dir_hold(folder, NULL);
	if (fs_is_directory(folder))
		return 0;
	removal_tell_gone(owner, err);
	return err_wrap(err, "%s", path);
}

int local_removal_check_owners(const struct job *job, const char *job_dir, struct err *err)
{
	const char *paths[] = {job->checkpoint_dir, job->work_dir,
			       job->results_dir ? job->output_dir : NULL};
	char *parent cleanup_free = fs_dirname(job_dir), *jobs cleanup_free = resolve(parent);

	for (size_t i = 0; i < array_length(paths); i++)
		if (paths[i] && !fs_is_below(paths[i], job_dir) &&
		    check_owner(paths[i], jobs, err) < 0)
			return -1;
	return 0;
}

/* ---- what is not the job's ---------------------------------------------------------------- */

static void spare(struct removal *removal, const char *job_dir, const char *path, const char *why)
{
	char *real cleanup_free = resolve(path), *folder cleanup_free = resolve(job_dir);
	char *jobs cleanup_free = fs_dirname(folder);

	if (strstr(path, "://") || !fs_exists(path) || fs_is_below(real, folder))
		return;
	char *owner cleanup_free = owner_of(real, jobs);
	char *with cleanup_free = owner ? mem_printf("it goes with %s", owner) : NULL;
	removal_spare(removal, path, with ? with : why);
}

static void spare_users_own(struct removal *removal, const struct job *job, const char *job_dir)
{
	struct stat info;

	if (job->work_dir)
		spare(removal, job_dir, job->work_dir, "the job ran there in place");
	if (job->checkpoint_dir)
		spare(removal, job_dir, job->checkpoint_dir, REMOVAL_CHECKPOINTS);
	if (job->results_dir)
		spare(removal, job_dir, job->output_dir, REMOVAL_RESULTS);
	removal_spare_remote(removal, job);
	if (lstat(job_dir, &info) == 0 && S_ISLNK(info.st_mode)) {
		char *real cleanup_free = resolve(job_dir);
		str_list_add_format(&removal->stays, "%s: the job's folder is a link to it", real);
	}
}

/* ------------------------------------------------------------------------------------------- */

/* The history tells of a removed job; if it could not be published, the job's folder does. */
static int check_kept(struct removal *removal, const char *id, const struct job_view *view,
		      struct err *err)
{
	removal->is_last_word = !removal->is_whole && view->history_trouble;
	return !removal->is_last_word
		       ? 0
		       : err_set(err, ERR_FAILED,
				 "%s stays, nothing else tells of it (%s); to remove it: tony rm "
				 "%s",
				 id, view->history_trouble, id);
}

/* Nothing can be read of it, ended or not: that no AM holds it has to do. */
static bool is_damaged(const char *job_dir)
{
	struct err err cleanup_err = {0};
	struct job_view *view;
	struct job *job;

	if (local_job_read(job_dir, &job, &view, &err) < 0)
		return err.kind == ERR_INPUT;
	job_view_destroy(view);
	job_destroy(job);
	return false;
}

/* *job is NULL of a damaged job. */
static int read_ended(const char *job_dir, struct removal *removal, struct job **job,
		      struct err *err)
{
	const char *id = fs_basename(job_dir);
	struct job_view *view;

	if (!local_job_is_there(job_dir))
		return err_set(err, ERR_NOT_FOUND, "no job \"%s\" in %s", id, job_dir);
	if (local_job_read_end(job_dir, job, &view) < 0) {
		*job = NULL;
		if (is_damaged(job_dir))
			return 0;
		return local_job_is_there(job_dir) ? removal_refuse_live(id, err)
						   : removal_tell_gone(id, err);
	}
	int result = check_kept(removal, id, view, err);
	job_view_destroy(view);
	if (result < 0)
		job_destroy(*job);
	return result;
}

/* No AM holds the job, nor begins to while the returned descriptor is open. */
static int hold(const char *job_dir, int64_t wait_ms, struct err *err)
{
	int64_t until = clock_monotonic_ms() + wait_ms;
	int held;

	do
		held = state_dir_hold(job_dir, NULL);
	while (held < 0 && local_job_is_there(job_dir) && clock_monotonic_ms() < until);
	if (held >= 0)
		return held;
	return local_job_is_there(job_dir) ? removal_refuse_leaving(fs_basename(job_dir), err)
					   : removal_tell_gone(fs_basename(job_dir), err);
}

static int remove_ended(const char *job_dir, const struct job *job, struct removal *removal,
			struct err *err)
{
	int held cleanup_close = removal->is_dry ? -1 : hold(job_dir, removal->wait_ms, err);

	if ((held < 0 && !removal->is_dry) || local_removal_check_unused(removal, job_dir, err) < 0)
		return -1;
	char *source cleanup_free = local_sources_shared(job_dir);
	if (source)
		str_list_add(&removal->sources, source);
	if (job)
		spare_users_own(removal, job, job_dir);
	return removal_remove_folder(removal, job_dir, job_dir, err);
}

int local_removal_remove(const struct scheduler_traits *engine, const char *id,
			 struct removal *removal, struct err *err)
{
	char *state cleanup_free = state_dir_find(err);
	char *job_dir cleanup_free = state ? state_dir_job(state, engine->folder, id) : NULL;
	struct job *job = NULL;

	if (!job_dir || read_ended(job_dir, removal, &job, err) < 0)
		return -1;
	int result = remove_ended(job_dir, job, removal, err);
	job_destroy(job);
	return result;
}
