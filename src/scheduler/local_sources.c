#include "scheduler/local_sources.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "scheduler/state_dir.h"

#define FROM_FILES "../../../cache/" /* seen from <state>/jobs/<id>/files */

char *local_sources_path(const char *job_dir)
{
	return fs_join(job_dir, "files/src");
}

char *local_sources_stdin(const char *job_dir)
{
	return fs_join(job_dir, "files/stdin");
}

char *local_sources_shared(const char *job_dir)
{
	char *source cleanup_free = local_sources_path(job_dir);
	char *cache cleanup_free = state_dir_cache(job_dir);
	char target[PATH_MAX];
	ssize_t length = readlink(source, target, sizeof(target) - 1);

	target[length > 0 ? length : 0] = '\0';
	if (str_starts_with(target, FROM_FILES))
		return mem_strdup(target + strlen(FROM_FILES));
	length = (ssize_t)strlen(cache);
	return str_starts_with(target, cache) && target[length] == '/'
		       ? mem_strdup(target + length + 1)
		       : NULL;
}

/* Relative, so that the state directory may be moved, unless "jobs" or the job is a link to
 * elsewhere. */
static char *make_target(const char *source, const char *directory)
{
	char *files cleanup_free = fs_dirname(source), *cache cleanup_free = fs_dirname(directory);
	char *target cleanup_free = mem_printf(FROM_FILES "%s", fs_basename(directory));
	char *seen cleanup_free = fs_join(files, FROM_FILES);
	struct stat wanted, found;

	if (stat(cache, &wanted) == 0 && stat(seen, &found) == 0 && wanted.st_dev == found.st_dev &&
	    wanted.st_ino == found.st_ino)
		return mem_steal(&target);
	return mem_strdup(directory);
}

static bool has_content(const char *directory, const char *hash)
{
	char *found cleanup_free = fs_hash_tree(directory, NULL);

	return str_equal(found, hash);
}

/* A directory that is there with other content is left alone: a user may have written into it, or a
 * power loss torn it. */
static int move(const char *source, const char *directory, const char *hash, struct err *err)
{
	char *link cleanup_free = make_target(source, directory);
	char *spare cleanup_free = mem_printf("%s.spare", source);
	bool is_there = fs_exists(directory);
	const char *target = is_there ? spare : directory;

	if (is_there && !has_content(directory, hash))
		return 0;
	if (rename(source, target) < 0)
		return err_set_errno(err, "%s", target);
	if (symlink(link, source) < 0)
		return err_set_errno(err, "%s", source);
	return is_there ? fs_remove_tree(spare, err) : 0;
}

int local_sources_share(const char *job_dir, struct err *err)
{
	char *source cleanup_free = local_sources_path(job_dir);
	char *cache cleanup_free = state_dir_cache(job_dir);
	struct stat info;

	if (lstat(source, &info) < 0)
		return errno == ENOENT ? 0 : err_set_errno(err, "%s", source);
	if (!S_ISDIR(info.st_mode))
		return 0;
	char *hash cleanup_free = fs_hash_tree(source, err);
	if (!hash || fs_make_directories(cache, 0700, err) < 0)
		return -1;
	char *directory cleanup_free = fs_join(cache, hash);
	char *lock cleanup_free = mem_printf("%s" STATE_DIR_CACHE_LOCK, directory);
	int held cleanup_close = fs_lock(lock, err);
	if (held < 0)
		return -1;
	futimens(held, NULL); /* the last use */
	return move(source, directory, hash, err);
}
