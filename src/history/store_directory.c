/* A store in a directory. No symbolic link that somebody put there leads elsewhere. */
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
#include "history/store_internal.h"

#define REMOVED ".removed" /* ".<job id>.removed" is an entry that is being removed */

/* A symbolic link where none may be is nobody's file. */
static int refuse(const char *root, const char *path, struct err *err)
{
	if (errno == ELOOP || errno == ENOTDIR)
		return err_set(err, ERR_NOT_FOUND, "%s/%s: is not in the store", root, path);
	return err_set_errno(err, "%s/%s", root, path);
}

static int open_below(const char *root, const char *path, struct err *err)
{
	int directory cleanup_close = open(root, O_RDONLY | O_CLOEXEC | O_DIRECTORY);

	if (directory < 0)
		return err_set_errno(err, "%s", root);
	int fd = fs_open_below(directory, path);
	return fd < 0 ? refuse(root, path, err) : fd;
}

static int list(struct history_store *store, const char *path, store_visit *visit, void *data,
		struct err *err)
{
	int fd = open_below(store->root, path, err);
	const struct dirent *entry;
	struct stat status;

	if (fd < 0)
		return -1;
	DIR *directory cleanup_dir = fdopendir(fd);
	if (!directory) {
		refuse(store->root, path, err);
		close(fd);
		return -1;
	}
	while ((entry = readdir(directory))) {
		if (str_equal(entry->d_name, ".") || str_equal(entry->d_name, "..") ||
		    fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		const struct store_item item = {.name = entry->d_name,
						.is_directory = S_ISDIR(status.st_mode),
						.length = status.st_size,
						.modified_ms = fs_modified_ms(&status)};
		visit(data, &item);
	}
	return 0;
}

static bool is_directory(struct history_store *store, const char *path)
{
	int fd cleanup_close = open_below(store->root, path, NULL);
	struct stat status;

	return fd >= 0 && fstat(fd, &status) == 0 && S_ISDIR(status.st_mode);
}

static int look(struct history_store *store, const char *path, struct store_access *access,
		struct err *err)
{
	int fd cleanup_close = open_below(store->root, path, err);
	struct stat status;

	if (fd < 0)
		return -1;
	if (fstat(fd, &status) < 0)
		return err_set_errno(err, "%s/%s", store->root, path);
	access->owner = user_name_of(status.st_uid);
	access->permission = status.st_mode & 07777;
	return 0;
}

/* Both descriptors are of one moment, whatever is renamed meanwhile. */
static int open_in(struct history_store *store, const char *path, char **owner, struct err *err)
{
	char *parent cleanup_free = fs_dirname(path);
	int directory cleanup_close = open_below(store->root, parent, err);
	struct stat status;

	if (directory < 0)
		return -1;
	if (fstat(directory, &status) < 0)
		return err_set_errno(err, "%s/%s", store->root, parent);
	int fd = fs_open_below(directory, fs_basename(path));
	if (fd < 0)
		return refuse(store->root, path, err);
	if (owner)
		*owner = user_name_of(status.st_uid);
	return fd;
}

static int open_file(struct history_store *store, const char *path, int64_t cap, char **owner,
		     struct err *err)
{
	char *found cleanup_free = NULL;
	int fd cleanup_close = open_in(store, path, owner ? &found : NULL, err);
	struct stat status;

	if (fd < 0)
		return -1;
	if (fstat(fd, &status) < 0)
		return err_set_errno(err, "%s/%s", store->root, path);
	if (!S_ISREG(status.st_mode))
		return err_set(err, ERR_NOT_FOUND, "%s/%s: is not a file", store->root, path);
	if (status.st_size > cap)
		return err_set(err, ERR_INPUT, "%s/%s: is larger than %lld bytes", store->root,
			       path, (long long)cap);
	if (owner)
		*owner = mem_steal(&found);
	return mem_steal_fd(&fd);
}

/* Entries that a killed process had begun to remove. */
static void remove_rests(int fd)
{
	char *there cleanup_free = mem_printf("/proc/self/fd/%d", fd);
	DIR *directory cleanup_dir = opendir(there);
	const struct dirent *entry;

	while (directory && (entry = readdir(directory))) {
		char *rest cleanup_free = fs_join(there, entry->d_name);
		if (*entry->d_name == '.' && str_ends_with(entry->d_name, REMOVED))
			fs_remove_tree(rest, NULL);
	}
}

/* Under a name that is no job's, since half of an entry must not look like the whole. An entry
 * that cannot be renamed is removed where it is. */
static int remove_below(int fd, const char *name, struct err *err)
{
	char *there cleanup_free = mem_printf("/proc/self/fd/%d/%s", fd, name);
	char *aside cleanup_free = mem_printf("/proc/self/fd/%d/.%s" REMOVED, fd, name);

	remove_rests(fd);
	bool is_aside = *name != '.' && rename(there, aside) == 0;
	return fs_remove_tree(is_aside ? aside : there, err);
}

static int remove_path(struct history_store *store, const char *path, struct err *err)
{
	struct err missing cleanup_err = {0};
	char *parent cleanup_free = fs_dirname(path);
	int fd cleanup_close =
		open_below(store->root, str_equal(parent, ".") ? "" : parent, &missing);

	if (fd < 0)
		return missing.kind == ERR_NOT_FOUND ? 0 : err_copy(err, &missing);
	if (remove_below(fd, fs_basename(path), err) < 0)
		return err_wrap(err, "%s/%s cannot be removed", store->root, path);
	return 0;
}

const struct store_ops store_directory = {
	.list = list,
	.is_directory = is_directory,
	.look = look,
	.open_file = open_file,
	.remove = remove_path,
};
