#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/user.h"
#include "portal/event_source.h"

#define BLOCK ((size_t)64 << 10)

/* The caller's webhdfs_file_finish() frees what it holds. */
static struct webhdfs_file describe(const char *name, const struct stat *status)
{
	return (struct webhdfs_file){
		.name = mem_strdup(name),
		.is_directory = S_ISDIR(status->st_mode),
		.length = status->st_size,
		.modified_ms = fs_modified_ms(status),
		.permission = status->st_mode & 07777,
		.owner = user_name_of(status->st_uid),
	};
}

/* The directory itself may be reached through symbolic links: what counts is whose it is. */
static int open_below(const struct event_files *files, const char *name, struct stat *status,
		      struct err *err)
{
	int top cleanup_close = open(files->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd cleanup_close = top < 0 ? -1 : fs_open_below(top, name);

	if (fd < 0 || fstat(fd, status) < 0)
		return err_set_errno(err, "%s%s%s", files->path, *name ? "/" : "", name);
	return mem_steal_fd(&fd);
}

/* The same, where it is the owner's. */
static int open_owned(const struct event_files *files, const char *name, mode_t type,
		      struct err *err)
{
	struct stat status = {0};
	int fd cleanup_close = open_below(files, name, &status, err);

	if (fd < 0)
		return -1;
	char *owner cleanup_free = user_name_of(status.st_uid);
	if (!str_equal(owner, files->owner) || (status.st_mode & S_IFMT) != type)
		return err_set(err, ERR_DENIED, "%s/%s: another one, %s's, has taken its place",
			       files->path, name, owner);
	return mem_steal_fd(&fd);
}

static int stat_file(const struct event_files *files, const char *name, struct webhdfs_file *file,
		     struct err *err)
{
	struct stat status = {0};
	int fd cleanup_close = open_below(files, name, &status, err);

	if (fd < 0)
		return -1;
	*file = describe("", &status);
	return 0;
}

static int list(const struct event_files *files, const char *name,
		void (*visit)(void *data, const struct webhdfs_file *file), void *data,
		struct err *err)
{
	int fd = open_owned(files, name, S_IFDIR, err);
	const struct dirent *entry;
	struct stat status = {0};

	if (fd < 0)
		return -1;
	DIR *directory cleanup_dir = fdopendir(fd);
	if (!directory) {
		close(fd);
		return err_set_errno(err, "%s/%s", files->path, name);
	}
	while ((entry = readdir(directory))) {
		if (str_equal(entry->d_name, ".") || str_equal(entry->d_name, "..") ||
		    fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
		    (!S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode)))
			continue;
		struct webhdfs_file file cleanup_webhdfs_file = describe(entry->d_name, &status);
		visit(data, &file);
	}
	return 0;
}

static int read_file(const struct event_files *files, const char *name, int64_t offset,
		     int64_t length, bool (*on_bytes)(void *data, const char *bytes, size_t length),
		     void *data, struct err *err)
{
	int fd cleanup_close = open_owned(files, name, S_IFREG, err);
	char *block cleanup_free = mem_alloc(BLOCK);

	if (fd < 0)
		return -1;
	while (length > 0) {
		size_t wanted = length < (int64_t)BLOCK ? (size_t)length : BLOCK;
		ssize_t got = pread(fd, block, wanted, offset);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_set_errno(err, "%s/%s", files->path, name);
		if (got == 0 || !on_bytes(data, block, (size_t)got))
			return 0;
		offset += got;
		length -= got;
	}
	return 0;
}

const struct event_source event_source_local = {
	.stat = stat_file,
	.list = list,
	.read = read_file,
};
