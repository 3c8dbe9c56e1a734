#include "scheduler/local_sources.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "scheduler/state_dir.h"

#define SPARE	   ".spare"	     /* a snapshot that makes room for a link */
#define LINK	   ".link"	     /* that link, until it takes the snapshot's place */
#define FROM_FILES "../../../cache/" /* seen from <state>/jobs/<id>/files */

char *local_sources_path(const char *job_dir)
{
	return fs_join(job_dir, "files/src");
}

char *local_sources_stdin(const char *job_dir)
{
	return fs_join(job_dir, "files/stdin");
}

/* The name in the cache of what a link leads to; NULL: to something else. The caller frees. */
static char *read_link(const char *job_dir, const char *link)
{
	char *cache cleanup_free = state_dir_cache(job_dir);
	char target[PATH_MAX];
	ssize_t length = readlink(link, target, sizeof(target) - 1);

	target[length > 0 ? length : 0] = '\0';
	if (str_starts_with(target, FROM_FILES))
		return mem_strdup(target + strlen(FROM_FILES));
	length = (ssize_t)strlen(cache);
	return str_starts_with(target, cache) && target[length] == '/'
		       ? mem_strdup(target + length + 1)
		       : NULL;
}

char *local_sources_shared(const char *job_dir)
{
	char *source cleanup_free = local_sources_path(job_dir);

	return read_link(job_dir, source);
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

/* As renameat2(), also of a directory that its owner may not write to. */
static int move_directory(const char *from, const char *to, unsigned flags, struct err *err)
{
	struct stat info;

	if (lstat(from, &info) < 0 || chmod(from, info.st_mode | S_IRWXU) < 0)
		return err_set_errno(err, "%s", from);
	bool moved = renameat2(AT_FDCWD, from, AT_FDCWD, to, flags) == 0;
	int result = moved ? 0 : err_set_errno(err, "%s", to);
	chmod(moved ? to : from, info.st_mode & 07777);
	return result;
}

/* Made under another name first, where a full disk still does no harm. */
static int make_link(const char *link, const char *source, const char *directory, struct err *err)
{
	char *target cleanup_free = make_target(source, directory);

	unlink(link);
	return symlink(target, link) < 0 ? err_set_errno(err, "%s", link) : 0;
}

/* Another job may copy the snapshot now: where the file system can exchange names, there is always
 * one. A failure leaves the snapshot where it was. */
static int replace_by_link(const char *source, const char *place, const char *link, struct err *err)
{
	if (rename(link, place) == 0) {
		if (move_directory(source, place, RENAME_EXCHANGE, NULL) == 0)
			return 0;
		rename(place, link);
	}
	if (move_directory(source, place, 0, err) < 0)
		return -1;
	if (rename(link, source) == 0)
		return 0;
	err_set_errno(err, "%s", source);
	move_directory(place, source, 0, NULL);
	return -1;
}

static int remove_spare(const char *source, struct err *err)
{
	char *spare cleanup_free = mem_printf("%s" SPARE, source);

	return fs_remove_tree(spare, err);
}

/* A directory that is there with other content is left alone: a user may have written into it, or a
 * power loss torn it. */
static int move(const char *source, const char *directory, const char *hash, struct err *err)
{
	char *spare cleanup_free = mem_printf("%s" SPARE, source);
	char *link cleanup_free = mem_printf("%s" LINK, source);

	unlink(directory); /* a link, of a process that was killed before it exchanged the names */
	bool is_there = fs_exists(directory);
	if (is_there && !has_content(directory, hash))
		return 0;
	if (make_link(link, source, directory, err) < 0)
		return -1;
	if (replace_by_link(source, is_there ? spare : directory, link, err) < 0) {
		unlink(link);
		return -1;
	}
	return remove_spare(source, err);
}

/* The lock of one content, whose time is that of its last use. */
static int lock_content(const char *directory, struct err *err)
{
	char *path cleanup_free = mem_printf("%s" STATE_DIR_CACHE_LOCK, directory);
	int held = fs_lock(path, err);

	if (held >= 0)
		futimens(held, NULL);
	return held;
}

static void unlock_content(const char *directory)
{
	char *path cleanup_free = mem_printf("%s" STATE_DIR_CACHE_LOCK, directory);

	if (!fs_exists(directory))
		unlink(path);
}

/* A process that was killed while it shared may have left the snapshot under another name, or in
 * the cache with the link to it under another name. */
static int restore(const char *source)
{
	char *spare cleanup_free = mem_printf("%s" SPARE, source);
	char *link cleanup_free = mem_printf("%s" LINK, source);

	return rename(spare, source) == 0 ? 0 : rename(link, source);
}

int local_sources_share(const char *job_dir, struct err *err)
{
	char *source cleanup_free = local_sources_path(job_dir);
	char *cache cleanup_free = state_dir_cache(job_dir);
	struct stat info;

	if (lstat(source, &info) < 0 && (restore(source) < 0 || lstat(source, &info) < 0))
		return errno == ENOENT ? 0 : err_set_errno(err, "%s", source);
	if (!S_ISDIR(info.st_mode))
		return 0;
	char *hash cleanup_free = fs_hash_tree(source, err);
	if (!hash || fs_make_directories(cache, 0700, err) < 0)
		return -1;
	char *directory cleanup_free = fs_join(cache, hash);
	int held cleanup_close = lock_content(directory, err);
	if (held < 0)
		return -1;
	int result = move(source, directory, hash, err);
	unlock_content(directory);
	return result;
}

/* Under the lock of its content: no process shares it now. */
static void tidy(const char *source, const char *directory)
{
	char *link cleanup_free = mem_printf("%s" LINK, source);
	struct stat info;

	if (lstat(source, &info) < 0)
		restore(source);
	else if (S_ISLNK(info.st_mode) && fs_is_directory(directory))
		remove_spare(source, NULL);
	unlink(link);
}

void local_sources_tidy(const char *job_dir)
{
	char *source cleanup_free = local_sources_path(job_dir);
	char *spare cleanup_free = mem_printf("%s" SPARE, source);
	char *link cleanup_free = mem_printf("%s" LINK, source);
	char *pending cleanup_free = read_link(job_dir, link);

	if (!fs_exists(spare) && !pending)
		return;
	char *shared cleanup_free = local_sources_shared(job_dir);
	const char *hash = pending ? pending : shared;
	char *cache cleanup_free = state_dir_cache(job_dir);
	char *directory cleanup_free = fs_join(cache, hash ? hash : ".");
	int held cleanup_close = hash ? lock_content(directory, NULL) : -1;

	if (held >= 0 || !hash)
		tidy(source, directory);
	if (held >= 0)
		unlock_content(directory);
}
