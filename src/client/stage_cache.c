#include "client/stage_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/map.h"
#include "base/mem.h"
#include "client/archive.h"
#include "scheduler/local_job.h"
#include "scheduler/local_sources.h"
#include "scheduler/state_dir.h"

#define LOCK	   STATE_DIR_CACHE_LOCK
#define PART	   ".part"
#define KEPT	   ".kept"
#define MIN_AGE_MS 86400000 /* longer than any submission takes */

/* A crash must not leave a directory that looks whole and is not: its content goes to the disk
 * before its name does. */
static int publish(const char *unpacked, const char *directory, struct err *err)
{
	int fd cleanup_close = open(unpacked, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || syncfs(fd) < 0 || rename(unpacked, directory) < 0)
		return err_set_errno(err, "%s", directory);
	return 0;
}

char *stage_cache_part(const char *place)
{
	return mem_printf("%s" PART, place);
}

int stage_cache_lock(const char *place, struct err *err)
{
	char *path cleanup_free = mem_printf("%s" LOCK, place);
	int held = fs_lock(path, err);

	if (held >= 0)
		futimens(held, NULL); /* the last use; programs may write into the directory */
	return held;
}

static int unpack(const char *archive, const char *directory, struct err *err)
{
	char *unpacked cleanup_free = stage_cache_part(directory);

	/* Only the holder of the lock writes here. A leftover comes from a process that was
	 * killed. */
	if (fs_remove_tree(unpacked, err) < 0 || archive_unpack(archive, unpacked, NULL, err) < 0)
		return -1;
	if (publish(unpacked, directory, err) == 0)
		return 0;
	fs_remove_tree(unpacked, NULL);
	return -1;
}

char *stage_cache_unpack(const char *cache, const char *archive, struct err *err)
{
	char *hash cleanup_free = fs_hash_tree(archive, err);

	if (!hash || fs_make_directories(cache, 0700, err) < 0)
		return NULL;
	char *directory cleanup_free = fs_join(cache, hash);
	int held cleanup_close = stage_cache_lock(directory, err);
	if (held < 0)
		return NULL;
	if (!fs_is_directory(directory) && unpack(archive, directory, err) < 0)
		return NULL;
	return mem_steal(&directory);
}

char *stage_cache_keep(const char *cache, const char *tree, struct err *err)
{
	char *hash cleanup_free = fs_hash_tree(tree, err);

	if (!hash)
		return NULL;
	/* Not the name that an archive of this content is unpacked under. */
	char *path cleanup_free = mem_printf("%s/%s" KEPT, cache, hash);
	int held cleanup_close = stage_cache_lock(path, err);
	if (held < 0 || (!fs_exists(path) && publish(tree, path, err) < 0))
		return NULL;
	return mem_steal(&path);
}

/* ---- ageing ------------------------------------------------------------------------------- */

/* A file may be one in a directory of the cache. */
static void note_files(const struct job *job, struct map *used)
{
	for (size_t i = 0; i < job->type_count; i++) {
		for (size_t k = 0; k < job->types[i].files.count; k++) {
			const char *source = job->types[i].files.items[k].source;
			char *parent cleanup_free = fs_dirname(source);
			map_set(used, fs_basename(source), used);
			map_set(used, fs_basename(parent), used);
		}
	}
}

/* The sources of a job are kept as long as the job is. */
static void note_sources(const char *job_dir, struct map *used)
{
	char *hash cleanup_free = local_sources_shared(job_dir);

	if (hash)
		map_set(used, hash, used);
}

static bool is_over(const struct scheduler_client_ops *engine, const char *job_dir)
{
	return local_job_ended_before(job_dir, INT64_MAX) ||
	       (engine->directories &&
		local_job_life(engine->directories, job_dir, NULL) == LOCAL_GONE);
}

/* 0: the engine has had no job. -1: its folder or a description cannot be read. */
static int note_jobs_of(const struct scheduler_client_ops *engine, const char *state,
			const struct stage_cache_removal *removal, struct map *used)
{
	char *jobs cleanup_free = fs_join(state, engine->traits->folder);
	DIR *directory cleanup_dir = opendir(jobs);
	const struct dirent *entry;

	if (!directory)
		return errno == ENOENT ? 0 : -1;
	while ((entry = readdir(directory))) {
		char *job_dir cleanup_free = fs_join(jobs, entry->d_name);
		char *description cleanup_free = fs_join(job_dir, "job.json");
		if (!state_dir_is_job_id(entry->d_name) ||
		    (removal->jobs && map_get(removal->jobs, entry->d_name)))
			continue;
		local_sources_tidy(job_dir);
		note_sources(job_dir, used);
		if (!fs_exists(description) || is_over(engine, job_dir))
			continue;
		struct job *job = job_read_file(description, NULL);
		if (!job)
			return -1;
		note_files(job, used);
		job_destroy(job);
	}
	return 1;
}

/* Notes the files of jobs that have not ended, and the sources of all jobs but those that are being
 * removed. False: not all jobs are known, or none is, so nothing may be removed. */
static bool note_jobs(const char *state, const struct stage_cache_removal *removal,
		      struct map *used)
{
	const struct scheduler_client_ops *ops;
	int known = 0;

	for (size_t i = 0; known >= 0 && (ops = scheduler_client_at(i)); i++) {
		int result = ops->traits->staged ? 0 : note_jobs_of(ops, state, removal, used);
		known = result < 0 ? -1 : known + result;
	}
	return known > 0;
}

static bool is_old(const struct stat *lock, int64_t oldest_ms)
{
	return fs_modified_ms(lock) < oldest_ms;
}

/* Half of it must not look like the whole. */
static int remove_aside(const char *directory, struct err *err)
{
	char *part cleanup_free = mem_printf("%s" PART, directory);

	if (fs_remove_tree(part, err) < 0)
		return -1;
	if (rename(directory, part) < 0 && errno != ENOENT)
		return err_set_errno(err, "%s", directory);
	return fs_remove_tree(part, err);
}

/* Under the lock, as stage_cache_unpack() takes it: of a content that nobody has used since
 * `before` was its lock's status. */
static void remove_content(const char *directory, const char *lock_path, const struct stat *before,
			   struct stage_cache_removal *removal)
{
	int held cleanup_close = fs_lock(lock_path, NULL);
	struct fs_tree_size size;
	struct err err cleanup_err = {0};
	struct stat lock;

	if (held < 0 || fstat(held, &lock) < 0 || lock.st_mtim.tv_sec != before->st_mtim.tv_sec ||
	    lock.st_mtim.tv_nsec != before->st_mtim.tv_nsec)
		return;
	fs_measure_tree(directory, INT64_MAX, &size);
	if (!removal->is_dry && remove_aside(directory, &err) < 0) {
		err_copy(&removal->left, &err);
		return;
	}
	if (!removal->is_dry)
		unlink(lock_path);
	removal->bytes += size.bytes;
	removal->count++;
}

static void remove_unused(const char *cache, const struct map *used, int64_t oldest_ms,
			  struct stage_cache_removal *removal)
{
	DIR *directory cleanup_dir = opendir(cache);
	const struct dirent *entry;

	while (directory && (entry = readdir(directory)) &&
	       (removal->most == 0 || removal->count < removal->most)) {
		char *lock_path cleanup_free = fs_join(cache, entry->d_name);
		struct stat lock;
		if (!str_ends_with(lock_path, LOCK) || stat(lock_path, &lock) < 0 ||
		    !is_old(&lock, oldest_ms))
			continue;
		char *unpacked cleanup_free =
			mem_strndup(lock_path, strlen(lock_path) - strlen(LOCK));
		if (!map_get(used, fs_basename(unpacked)))
			remove_content(unpacked, lock_path, &lock, removal);
	}
}

void stage_cache_age(const char *state, int64_t max_age_ms, struct stage_cache_removal *removal)
{
	int64_t age_ms = max_age_ms > MIN_AGE_MS ? max_age_ms : MIN_AGE_MS;
	char *cache cleanup_free = fs_join(state, "cache");
	struct map *used = map_create(NULL);

	if (note_jobs(state, removal, used))
		remove_unused(cache, used, clock_wall_ms() - age_ms, removal);
	map_destroy(used);
}

/* ---- sources of jobs that are removed ----------------------------------------------------- */

/* A job that ends now, and has the same sources, makes the lock's time anew. */
static void drop(const char *cache, const struct str_list *hashes, const char *state,
		 struct stage_cache_removal *removal)
{
	struct stat *locks cleanup_free = mem_alloc_array(hashes->count, sizeof(*locks));
	struct map *used = map_create(NULL);

	for (size_t i = 0; i < hashes->count; i++) {
		char *lock_path cleanup_free = mem_printf("%s/%s" LOCK, cache, hashes->items[i]);
		if (stat(lock_path, &locks[i]) < 0)
			map_set(used, hashes->items[i], used);
	}
	if (note_jobs(state, removal, used))
		for (size_t i = 0; i < hashes->count; i++) {
			char *directory cleanup_free = fs_join(cache, hashes->items[i]);
			char *lock_path cleanup_free = mem_printf("%s" LOCK, directory);
			if (map_get(used, hashes->items[i]))
				continue;
			map_set(used, hashes->items[i], used);
			remove_content(directory, lock_path, &locks[i], removal);
		}
	map_destroy(used);
}

void stage_cache_drop(const char *state, const struct str_list *hashes,
		      struct stage_cache_removal *removal)
{
	char *cache cleanup_free = fs_join(state, "cache");

	if (hashes->count > 0)
		drop(cache, hashes, state, removal);
}
