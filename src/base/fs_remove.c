/*
 * Removing a tree that somebody else may have made: any depth (one descriptor at a time, no
 * recursion), no symbolic link followed, no mount entered, be it the tree's root, and no way out of
 * the tree by moving directories. Others may remove the same tree at the same time.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/user.h"

#define NAMES_MAX  1024 /* of a level, kept at a time */
#define FDINFO_CAP 4096

/* The way from the tree's root to where we are. */
struct level {
	dev_t device;
	ino_t inode;
	uid_t owner;
	int64_t mount;
	bool is_locked;		/* its owner may not do everything in it */
	char *name;		/* in the level above; of the root NULL */
	struct str_list inside; /* directories that were found, the next to be removed last */
};

struct walk {
	const char *root;   /* for messages */
	const uid_t *owner; /* of all its directories; NULL: they may be anybody's */
	int fd;		    /* of the innermost level */
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

/* The id of the mount which an open file was reached through. statx() tells it from Linux 5.8 on.
 * -1: neither it nor /proc does. */
static int64_t find_mount(int fd)
{
	struct statx info;
	size_t length;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &info) == 0 &&
	    (info.stx_mask & STATX_MNT_ID))
		return (int64_t)info.stx_mnt_id;
	char *path cleanup_free = mem_printf("/proc/self/fdinfo/%d", fd);
	char *text cleanup_free = fs_read_file(path, FDINFO_CAP, &length, NULL);
	const char *line = text ? strstr(text, "mnt_id:") : NULL;
	return line ? strtoll(line + strlen("mnt_id:"), NULL, 10) : -1;
}

/* A mount may be of the same file system. */
static bool is_mounted(const struct level *level, const struct level *above)
{
	return level->mount < 0 || above->mount < 0 ? level->device != above->device
						    : level->mount != above->mount;
}

static int describe(int fd, struct level *level)
{
	struct stat info;

	if (fstat(fd, &info) < 0)
		return -1;
	*level = (struct level){.device = info.st_dev,
				.inode = info.st_ino,
				.owner = info.st_uid,
				.mount = find_mount(fd),
				.is_locked = (info.st_mode & S_IRWXU) != S_IRWXU};
	return 0;
}

static int refuse_mount(const struct walk *walk, const char *name, struct err *err)
{
	return name ? err_set(err, ERR_IO,
			      "%s: another file system is mounted on %s; unmount it first",
			      walk->root, name)
		    : err_set(err, ERR_IO,
			      "%s: another file system is mounted there; unmount it first",
			      walk->root);
}

static int refuse_owner(const struct walk *walk, const char *name, uid_t owner, struct err *err)
{
	char *user cleanup_free = user_name_of(owner);

	return err_set(err, ERR_DENIED, "%s: %s in it is %s's, and stays", walk->root,
		       name ? name : "what", user);
}

/* Takes over `fd`, an open directory, unless that fails. `name`: in the level above, which `above`
 * is; NULL: of the root. */
static int descend(struct walk *walk, int fd, const char *name, const struct level *above,
		   struct err *err)
{
	struct level level;

	if (describe(fd, &level) < 0)
		return err_set_errno(err, "%s", walk->root);
	if (is_mounted(&level, above))
		return refuse_mount(walk, name, err);
	if (walk->owner && level.owner != *walk->owner)
		return refuse_owner(walk, name, level.owner, err);
	if (level.is_locked)
		fchmod(fd, 0700); /* when that fails, so does unlinkat(), with the reason */
	if (walk->depth == walk->capacity) {
		walk->capacity = walk->capacity ? 2 * walk->capacity : 16;
		walk->levels =
			mem_realloc_array(walk->levels, walk->capacity, sizeof(*walk->levels));
	}
	level.name = name ? mem_strdup(name) : NULL;
	walk->levels[walk->depth++] = level;
	if (walk->fd >= 0)
		close(walk->fd);
	walk->fd = fd;
	return 0;
}

/* It is not there any more, or something else is, which the next look finds. */
static bool is_gone(void)
{
	return errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
}

static int enter(struct walk *walk, const char *name, struct err *err)
{
	int fd cleanup_close = open_directory(walk->fd, name);

	if (fd < 0)
		return is_gone() ? 0 : err_set_errno(err, "%s: %s", walk->root, name);
	const struct level above = walk->levels[walk->depth - 1];
	if (descend(walk, fd, name, &above, err) < 0)
		return -1;
	mem_steal_fd(&fd);
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

static int empty_tree(int above, int fd, const uid_t *owner, const char *shown, struct err *err)
{
	struct walk walk = {.root = shown, .owner = owner, .fd = -1};
	struct level outside;
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	int failed = own < 0 || describe(above, &outside) < 0
			     ? err_set_errno(err, "%s", shown)
			     : descend(&walk, own, NULL, &outside, err);

	if (failed)
		mem_cleanup_close(&own);
	else
		failed = empty(&walk, err);
	finish(&walk);
	return failed;
}

int fs_empty_tree(int above, int fd, const char *shown, struct err *err)
{
	return empty_tree(above, fd, NULL, shown, err);
}

int fs_empty_tree_of(int above, int fd, uid_t owner, const char *shown, struct err *err)
{
	return empty_tree(above, fd, &owner, shown, err);
}

static int remove_directory(int at, const char *name, const char *shown, struct err *err)
{
	char *parent cleanup_free = fs_dirname(name);
	int above cleanup_close = openat(at, parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd cleanup_close = above < 0 ? -1 : open_directory(at, name);

	if (fd < 0)
		return errno == ENOENT ? 0 : err_set_errno(err, "%s", shown);
	if (fs_empty_tree(above, fd, shown, err) < 0)
		return -1;
	if (unlinkat(at, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return err_set_errno(err, "%s", shown);
	return 0;
}

int fs_remove_tree_at(int at, const char *name, const char *shown, struct err *err)
{
	struct stat info;

	if (fstatat(at, name, &info, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : err_set_errno(err, "%s", shown);
	if (S_ISDIR(info.st_mode))
		return remove_directory(at, name, shown, err);
	if (unlinkat(at, name, 0) < 0 && errno != ENOENT)
		return err_set_errno(err, "%s", shown);
	return 0;
}

int fs_remove_tree(const char *path, struct err *err)
{
	return fs_remove_tree_at(AT_FDCWD, path, path, err);
}
