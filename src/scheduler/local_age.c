/* With age an ended job of this machine loses its sources and logs, which its history still has. If
 * the user asks for it (tony.jobs.results-max-age), the whole folder goes later. */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "scheduler/copies.h"
#include "scheduler/local_job.h"
#include "scheduler/local_jobs.h"
#include "scheduler/local_removal.h"
#include "scheduler/state_dir.h"

#define REST_MIN_AGE_MS 86400000 /* longer than any submission takes */

/* ---- sources and logs --------------------------------------------------------------------- */

/* Tony's own files of a container. A program may have put others beside them. */
static bool is_own_file(const char *name)
{
	static const char *const names[] = {"cluster.json", "metrics.jsonl", "preempted",
					    "progress",	    "secret",	     "token"};
	static const char *const logs[] = {"stdout", "stderr", "executor."};

	for (size_t i = 0; i < array_length(names); i++)
		if (str_equal(name, names[i]))
			return true;
	for (size_t i = 0; i < array_length(logs); i++)
		if (str_starts_with(name, logs[i]))
			return true;
	return false;
}

/* They are still there where both processes of an executor were killed at once. */
static void clear_secrets(int container)
{
	int fd = openat(container, "secrets", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *directory cleanup_dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;

	if (!directory && fd >= 0)
		close(fd);
	while (directory && (entry = readdir(directory)))
		unlinkat(dirfd(directory), entry->d_name, 0); /* no directory is one of them */
	unlinkat(container, "secrets", AT_REMOVEDIR);
}

/* A program may have put links into the place of anything. */
static void clear_container(int containers, const char *name)
{
	int fd = openat(containers, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *directory cleanup_dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;

	if (!directory && fd >= 0)
		close(fd);
	while (directory && (entry = readdir(directory)))
		if (is_own_file(entry->d_name))
			unlinkat(dirfd(directory), entry->d_name, 0);
	if (!directory)
		return;
	clear_secrets(dirfd(directory));
	unlinkat(dirfd(directory), "work", AT_REMOVEDIR); /* if nothing is in it */
	unlinkat(containers, name, AT_REMOVEDIR);	  /* likewise */
}

static void clear_containers(const char *job_dir)
{
	char *path cleanup_free = fs_join(job_dir, "containers");
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *directory cleanup_dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;

	if (!directory && fd >= 0)
		close(fd);
	while (directory && (entry = readdir(directory)))
		if (state_dir_is_job_id(entry->d_name)) /* no dot first */
			clear_container(fd, entry->d_name);
	rmdir(path);
}

static void clear_own(const char *job_dir)
{
	static const char *const names[] = {"files",	".history",	 "am.log",
					    "store.kv", "rendezvous.kv", "ring.json"};

	for (size_t i = 0; i < array_length(names); i++) {
		char *path cleanup_free = fs_join(job_dir, names[i]);
		fs_remove_tree(path, NULL);
	}
}

static void clear(const char *job_dir, const struct job *job)
{
	char *checkpoint cleanup_free = fs_join(job_dir, "checkpoint");

	if (state_dir_set_cleared(job_dir, false, NULL) < 0)
		return;
	copies_take_back_all(job, job_dir); /* before the sources, with which they are compared */
	clear_containers(job_dir);
	clear_own(job_dir);
	rmdir(checkpoint); /* if nothing is in it */
	state_dir_set_cleared(job_dir, true, NULL);
}

static void clear_if_ended(const char *job_dir)
{
	struct job_view *view;
	struct job *job;
	int held cleanup_close = -1;

	if (local_job_read_end(job_dir, &job, &view) < 0)
		return;
	held = state_dir_hold(job_dir, NULL);
	if (held >= 0)
		clear(job_dir, job);
	job_view_destroy(view);
	job_destroy(job);
}

/* ---- all jobs ----------------------------------------------------------------------------- */

static bool was_changed_by(const char *path, int64_t until_ms)
{
	struct stat info;

	return lstat(path, &info) == 0 && fs_modified_ms(&info) <= until_ms;
}

static bool is_older(const char *path, int64_t age_ms)
{
	return age_ms > 0 && was_changed_by(path, clock_wall_ms() - age_ms);
}

/* The time of a job's end is that of its journal, which nothing changes from then on. */
static char *journal_of(const char *job_dir)
{
	return fs_join(job_dir, "journal.jsonl");
}

/* Of a submission that was killed, or of the removal of one. */
static void remove_rest(struct removal *removal, const char *job_dir)
{
	int held cleanup_close = -1;

	if (!is_older(job_dir, REST_MIN_AGE_MS) || !local_job_is_idle(job_dir))
		return;
	held = state_dir_hold(job_dir, NULL);
	if (held >= 0 && local_removal_check_unused(removal, job_dir, NULL) == 0)
		state_dir_remove_job(job_dir);
}

static void age_job(const struct scheduler_traits *engine, struct removal *removal,
		    const char *job_dir, const struct local_ages *ages)
{
	char *journal cleanup_free = journal_of(job_dir);

	if (!local_job_is_there(job_dir))
		remove_rest(removal, job_dir);
	else if (is_older(journal, ages->whole_ms))
		local_removal_remove(engine, fs_basename(job_dir), removal, NULL);
	else if (is_older(journal, ages->logs_ms) && !state_dir_is_cleared(job_dir, true))
		clear_if_ended(job_dir);
}

static void age_jobs(const struct scheduler_traits *engine, const struct local_ages *ages)
{
	char *state cleanup_free = state_dir_find(NULL);
	char *jobs cleanup_free = state ? fs_join(state, engine->folder) : NULL;
	struct removal removal cleanup_removal = {0};
	DIR *directory cleanup_dir = jobs ? opendir(jobs) : NULL;
	const struct dirent *entry;
	struct err left cleanup_err = {0};

	if (jobs && removal_sweep(jobs, false, &left) > 0)
		log_warning("%s", err_message(&left));
	while (directory && (entry = readdir(directory))) {
		char *job_dir cleanup_free = fs_join(jobs, entry->d_name);
		removal_begin(&removal);
		if (state_dir_is_job_id(entry->d_name))
			age_job(engine, &removal, job_dir, ages);
	}
}

void local_upkeep(const struct job *job, int64_t max_age_ms)
{
	const struct local_ages ages = {
		.logs_ms = job_config_ms(job, "tony.jobs.max-age", 1000),
		.whole_ms = job_config_ms(job, "tony.jobs.results-max-age", 1000)};

	age_jobs(scheduler_traits_of(job), &ages);
}

static bool has_ended(const char *job_dir, int64_t until_ms)
{
	char *journal cleanup_free = journal_of(job_dir);

	return was_changed_by(journal, until_ms) && local_job_ended_before(job_dir, INT64_MAX);
}

/* Jobs that have lost their AM for good get their end by being listed. */
static int settle_all(const struct local_engine *engine, struct err *err)
{
	struct job_summary *live;
	size_t count;

	if (local_jobs_list(engine, INT64_MAX, &live, &count, err) < 0)
		return -1;
	job_summaries_free(live, count);
	return 0;
}

int local_ended(const struct local_engine *engine, int64_t until_ms, struct str_list *ids,
		struct err *err)
{
	char *state cleanup_free = state_dir_find(err);
	char *jobs cleanup_free = state ? fs_join(state, engine->traits->folder) : NULL;
	DIR *directory cleanup_dir = NULL;
	const struct dirent *entry;

	if (!jobs || settle_all(engine, err) < 0)
		return -1;
	directory = opendir(jobs);
	while (directory && (entry = readdir(directory))) {
		char *job_dir cleanup_free = fs_join(jobs, entry->d_name);
		if (state_dir_is_job_id(entry->d_name) && has_ended(job_dir, until_ms))
			str_list_add(ids, entry->d_name);
	}
	str_list_sort(ids);
	return 0;
}
