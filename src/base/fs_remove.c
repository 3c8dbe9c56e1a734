/*
 * Removing a tree that somebody else may have made: any depth (one descriptor at a time, no
 * recursion), no symbolic link followed, no file system entered that is mounted below, and no way
 * out of the tree by moving directories. Others may remove the same tree at the same time.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"

#define NAMES_MAX 1024 /* of a level, kept at a time */

/* The way from the tree's root to where we are. */
struct level {
	dev_t device;
	ino_t inode;
	char *name;		/* in the level above */
	struct str_list inside; /* directories that were found, the next to be removed last */
};

struct walk {
	const char *root; /* for messages */
	int fd;		  /* of the innermost level */
	struct level *levels;
	size_t depth, capacity;
};

static void finish(struct walk *walk)
{
	for (size_t i = 0; i < walk->depth; i++) {
		free(walk->levels[i].name);
		str_list_finish(&walk->levels[i].inside);
	}
	free(walk->levels);
	mem_cleanup_close(&walk->fd);
}

static int open_directory(int at, const char *name)
{
	int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(at, name, flags);

	/* Trees of read-only directories are common (package caches). */
	if (fd < 0 && errno == EACCES && fchmodat(at, name, 0700, AT_SYMLINK_NOFOLLOW) == 0)
		fd = openat(at, name, flags);
	return fd;
}

/* False also where the kernel cannot tell. */
static bool is_mounted(int fd)
{
	struct statx info;

	return statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &info) == 0 &&
	       (info.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) &&
	       (info.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

/* 1: it is not there any more, or something else is, which the next look finds. */
static int enter(struct walk *walk, const char *name, struct err *err)
{
	int fd cleanup_close = open_directory(walk->fd, name);
	struct stat info;

	if (fd < 0 &&
	    (errno == ENOENT || (walk->depth > 0 && (errno == ENOTDIR || errno == ELOOP))))
		return 1;
	if (fd < 0 || fstat(fd, &info) < 0)
		return err_set_errno(err, "%s: %s", walk->root, name);
	if (walk->depth > 0 && is_mounted(fd))
		return err_set(err, ERR_IO,
			       "%s: another file system is mounted on %s; unmount it first",
			       walk->root, name);
	if ((info.st_mode & S_IRWXU) != S_IRWXU)
		fchmod(fd, 0700); /* when that fails, so does unlinkat(), with the reason */
	if (walk->depth == walk->capacity) {
		walk->capacity = walk->capacity ? 2 * walk->capacity : 16;
		walk->levels =
			mem_realloc_array(walk->levels, walk->capacity, sizeof(*walk->levels));
	}
	walk->levels[walk->depth++] = (struct level){
		.device = info.st_dev, .inode = info.st_ino, .name = mem_strdup(name)};
	if (walk->fd >= 0)
		close(walk->fd);
	walk->fd = mem_steal_fd(&fd);
	return 0;
}

/* Goes up one level and removes the emptied directory. */
static int leave(struct walk *walk, struct err *err)
{
	const struct level *above = &walk->levels[walk->depth - 2];
	int fd cleanup_close = openat(walk->fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat info;

	if (fd < 0 || fstat(fd, &info) < 0)
		return err_set_errno(err, "%s", walk->root);
	if (info.st_dev != above->device || info.st_ino != above->inode)
		return err_set(err, ERR_IO, "%s: was moved while it was being removed", walk->root);

	char *name cleanup_free = walk->levels[--walk->depth].name;
	str_list_finish(&walk->levels[walk->depth].inside);
	close(walk->fd);
	walk->fd = mem_steal_fd(&fd);
	if (unlinkat(walk->fd, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return err_set_errno(err, "%s: %s", walk->root, name);
	return 0;
}

/* Removes what is no directory, and adds names of directories. Each look at a large directory
 * begins with what was removed from it before, so one look is for many of them. */
static int remove_entries(struct walk *walk, struct str_list *inside, struct err *err)
{
	DIR *dir cleanup_dir = NULL;
	int fd = openat(walk->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || !(dir = fdopendir(fd))) {
		err_set_errno(err, "%s", walk->root);
		mem_cleanup_close(&fd);
		return -1;
	}
	const struct dirent *entry;
	while (inside->count < NAMES_MAX && (entry = readdir(dir))) {
		if (str_equal(entry->d_name, ".") || str_equal(entry->d_name, ".."))
			continue;
		if (unlinkat(walk->fd, entry->d_name, 0) == 0 || errno == ENOENT)
			continue;
		/* Linux says EISDIR, POSIX EPERM. */
		int reason = errno;
		struct stat info;
		bool is_there = fstatat(walk->fd, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0;
		if (!is_there && errno == ENOENT)
			continue;
		if (!is_there || !S_ISDIR(info.st_mode)) {
			errno = reason;
			return err_set_errno(err, "%s: %s", walk->root, entry->d_name);
		}
		str_list_add(inside, entry->d_name);
	}
	return 0;
}

static char *take_last(struct str_list *names)
{
	char *name = names->count > 0 ? names->items[--names->count] : NULL;

	if (name)
		names->items[names->count] = NULL;
	return name;
}

static int empty(struct walk *walk, struct err *err)
{
	for (;;) {
		struct str_list *inside = &walk->levels[walk->depth - 1].inside;
		if (inside->count == 0 && remove_entries(walk, inside, err) < 0)
			return -1;
		char *subdirectory cleanup_free = take_last(inside);
		if (subdirectory) {
			if (enter(walk, subdirectory, err) < 0)
				return -1;
		} else if (walk->depth == 1) {
			return 0;
		} else if (leave(walk, err) < 0) {
			return -1;
		}
	}
}

int fs_remove_tree(const char *path, struct err *err)
{
	struct walk walk = {.root = path, .fd = -1};
	struct stat info;

	if (lstat(path, &info) < 0)
		return errno == ENOENT ? 0 : err_set_errno(err, "%s", path);
	if (!S_ISDIR(info.st_mode)) {
		if (unlink(path) < 0 && errno != ENOENT)
			return err_set_errno(err, "%s", path);
		return 0;
	}
	walk.fd = AT_FDCWD;
	int entered = enter(&walk, path, err);
	int failed = entered == 0 ? empty(&walk, err) : entered < 0 ? -1 : 0;
	finish(&walk);
	if (!failed && rmdir(path) < 0 && errno != ENOENT)
		failed = err_set_errno(err, "%s", path);
	return failed;
}
