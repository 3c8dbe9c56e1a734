#include "base/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/user.h"

char *fs_join(const char *directory, const char *name)
{
	struct str path = {0};

	if (name[0] != '/' && directory[0] != '\0') {
		str_append(&path, directory);
		if (!str_ends_with(directory, "/"))
			str_append_char(&path, '/');
	}
	str_append(&path, name);
	return str_steal(&path);
}

const char *fs_basename(const char *path)
{
	const char *name = path;

	for (const char *c = path; *c; c++) {
		if (*c == '/' && c[1] && c[1] != '/')
			name = c + 1;
	}
	return name;
}

char *fs_dirname(const char *path)
{
	size_t length = strlen(path);

	while (length > 1 && path[length - 1] == '/')
		length--;
	while (length > 0 && path[length - 1] != '/')
		length--;
	if (length == 0)
		return mem_strdup(".");
	while (length > 1 && path[length - 1] == '/')
		length--;
	return mem_strndup(path, length);
}

/* Appends the parts of `path`, resolving "." and ".." by text alone. */
static void append_parts(struct str *out, const char *path)
{
	while (*path) {
		size_t length = strcspn(path, "/");
		if (length == 2 && memcmp(path, "..", 2) == 0) {
			const char *slash = strrchr(str_text(out), '/');
			str_truncate(out, slash ? (size_t)(slash - out->text) : 0);
		} else if (length > 0 && !(length == 1 && *path == '.')) {
			str_append_char(out, '/');
			str_append_bytes(out, path, length);
		}
		path += length;
		path += strspn(path, "/");
	}
}

char *fs_absolute(const char *path, struct err *err)
{
	struct str out = {0};

	if (path[0] != '/') {
		char *current cleanup_free = getcwd(NULL, 0);
		if (!current) {
			err_set_errno(err, "the current directory");
			return NULL;
		}
		append_parts(&out, current);
	}
	append_parts(&out, path);
	if (out.length == 0)
		str_append_char(&out, '/');
	return str_steal(&out);
}

char *fs_expand_home(const char *path)
{
	static const char *const marks[] = {"~", "$HOME", "${HOME}"};
	const char *home = getenv("HOME");

	for (size_t i = 0; i < array_length(marks); i++) {
		const char *rest = path + strlen(marks[i]);
		if (!str_starts_with(path, marks[i]) || (*rest && *rest != '/'))
			continue;
		return home && *home ? mem_printf("%s%s", home, rest) : NULL;
	}
	return mem_strdup(path);
}

bool fs_is_below(const char *path, const char *directory)
{
	size_t length = strlen(directory);

	return str_equal(directory, "/") || (strncmp(path, directory, length) == 0 &&
					     (path[length] == '/' || path[length] == '\0'));
}

/* A service reads a secret of root's by a group of its own. */
static int check_secret(const struct stat *info, const char *path, const char *what,
			struct err *err)
{
	if (!S_ISREG(info->st_mode))
		return 0;
	if (!user_is_trusted(info->st_uid))
		return err_set(err, ERR_CONFIG,
			       "%s: it holds %s, and belongs to uid %u, who can write another: let "
			       "it be yours (uid %u) or root's",
			       path, what, (unsigned)info->st_uid, (unsigned)geteuid());
	char *quoted cleanup_free = str_shell_quote(path);
	if (info->st_mode & (S_IROTH | S_IWOTH))
		return err_set(err, ERR_CONFIG,
			       "%s: it holds %s, and everybody on this machine may read or write "
			       "it: chmod o= %s",
			       path, what, quoted);
	if (user_write_remedy(path, info))
		return err_set(err, ERR_CONFIG,
			       "%s: it holds %s, and its group may write to it: chmod g-w %s", path,
			       what, quoted);
	return 0;
}

int fs_check_secret(const char *path, const char *what, struct err *err)
{
	struct stat info;

	return stat(path, &info) < 0 ? 0 : check_secret(&info, path, what, err);
}

bool fs_exists(const char *path)
{
	return access(path, F_OK) == 0;
}

bool fs_is_directory(const char *path)
{
	struct stat info;

	return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

bool fs_has_entries(const char *path)
{
	DIR *dir cleanup_dir = opendir(path);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (!str_equal(entry->d_name, ".") && !str_equal(entry->d_name, ".."))
			return true;
	return false;
}

bool fs_is_program(const char *path)
{
	return !fs_is_directory(path) && access(path, X_OK) == 0;
}

char *fs_find_program(const char *name, const char *path)
{
	struct str_list directories cleanup_str_list = {0};

	str_split(&directories, path ? path : "", ':');
	for (size_t i = 0; i < directories.count; i++) {
		char *program cleanup_free = fs_join(directories.items[i], name);
		if (fs_is_program(program))
			return mem_steal(&program);
	}
	return NULL;
}

int64_t fs_modified_ms(const struct stat *status)
{
	return (int64_t)status->st_mtim.tv_sec * 1000 + status->st_mtim.tv_nsec / 1000000;
}

bool fs_others_may_write(mode_t mode)
{
	return mode & (S_IWGRP | S_IWOTH);
}

bool fs_others_may_replace(mode_t mode)
{
	return fs_others_may_write(mode) && !(mode & S_ISVTX);
}

/* Reads to the end of the file, which may grow meanwhile or (in /proc) claim to be empty. */
enum { PIECE = 65536 };

static int read_pieces(int fd, const char *name, size_t cap, char *buffer, struct str *content,
		       struct err *err)
{
	for (;;) {
		ssize_t got = read(fd, buffer, PIECE);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_set_errno(err, "%s", name);
		if (got == 0)
			return 0;
		if ((size_t)got > cap - content->length)
			return err_set(err, ERR_INPUT, "%s: is larger than %zu bytes", name, cap);
		str_append_bytes(content, buffer, (size_t)got);
	}
}

/* The file may hold secrets: nothing of it stays on the stack. */
static int read_all(int fd, const char *name, size_t cap, struct str *content, struct err *err)
{
	char buffer[PIECE];
	int result = read_pieces(fd, name, cap, buffer, content, err);

	explicit_bzero(buffer, content->length < PIECE ? content->length : PIECE);
	return result;
}

char *fs_read_descriptor(int fd, const char *name, size_t cap, size_t *length, struct err *err)
{
	struct str content cleanup_str = {0};

	if (read_all(fd, name, cap, &content, err) < 0)
		return NULL;
	if (length)
		*length = content.length;
	return str_steal(&content);
}

const char *fs_kind_name(mode_t mode)
{
	return S_ISDIR(mode)	? "a directory"
	       : S_ISFIFO(mode) ? "a FIFO, not a regular file"
				: "not a regular file";
}

/* -1: `err` says why. */
static int open_file(const char *path, struct stat *info, struct err *err)
{
	/* O_NONBLOCK: opening a FIFO must not wait for a writer. */
	int fd cleanup_close = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0 || fstat(fd, info) < 0)
		return err_set_errno(err, "%s", path);
	if (!S_ISREG(info->st_mode))
		return err_set(err, ERR_INPUT, "%s: is %s", path, fs_kind_name(info->st_mode));
	return mem_steal_fd(&fd);
}

char *fs_read_file(const char *path, size_t cap, size_t *length, struct err *err)
{
	struct stat info;
	int fd cleanup_close = open_file(path, &info, err);

	return fd < 0 ? NULL : fs_read_descriptor(fd, path, cap, length, err);
}

char *fs_read_secret(const char *path, const char *what, size_t cap, size_t *length,
		     struct err *err)
{
	struct stat info = {0};
	int fd cleanup_close = open_file(path, &info, err);

	return fd < 0 || check_secret(&info, path, what, err) < 0
		       ? NULL
		       : fs_read_descriptor(fd, path, cap, length, err);
}

int fs_open_below(int directory, const char *path)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
	int fd = fcntl(directory, F_DUPFD_CLOEXEC, 0);

	while (fd >= 0 && *path) {
		size_t length = strcspn(path, "/");
		char *name cleanup_free = mem_strndup(path, length);
		int next = openat(fd, name, flags | (path[length] ? O_DIRECTORY : 0));
		int failure = errno;
		close(fd);
		errno = failure;
		fd = next;
		path += length + (path[length] == '/');
	}
	return fd;
}

int fs_read_at(int fd, const char *name, int64_t offset, void *bytes, size_t length,
	       struct err *err)
{
	unsigned char *next = bytes;

	while (length > 0) {
		ssize_t got = pread(fd, next, length, offset);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_set_errno(err, "%s", name);
		if (got == 0)
			return err_set(err, ERR_IO, "%s ends at byte %" PRId64, name, offset);
		next += got;
		offset += got;
		length -= (size_t)got;
	}
	return 0;
}

int fs_write_all(int fd, const void *bytes, size_t length, struct err *err)
{
	const char *next = bytes;

	while (length > 0) {
		ssize_t written = write(fd, next, length);
		if (written < 0 && errno == EAGAIN) {
			struct pollfd ready = {.fd = fd, .events = POLLOUT};
			poll(&ready, 1, -1);
			continue;
		}
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return err_set_errno(err, "write");
		next += written;
		length -= (size_t)written;
	}
	return 0;
}

enum durability { VOLATILE, DURABLE };

static int fill(int fd, const void *bytes, size_t length, mode_t mode, enum durability durability,
		struct err *err)
{
	if (fs_write_all(fd, bytes, length, err) < 0)
		return -1;
	/* fchmod: the mode is meant as given, whatever the umask. */
	if (fchmod(fd, mode) < 0 || (durability == DURABLE && fsync(fd) < 0))
		return err_set_errno(err, "write");
	return 0;
}

static int replace(const char *path, const void *bytes, size_t length, mode_t mode,
		   enum durability durability, struct err *err)
{
	char *sibling cleanup_free = mem_printf("%s.XXXXXX", path);
	int fd = mkostemp(sibling, O_CLOEXEC);

	if (fd < 0)
		return err_set_errno(err, "%s", path);
	int failed = fill(fd, bytes, length, mode, durability, err);
	if (close(fd) < 0 && !failed)
		failed = err_set_errno(err, "write");
	if (!failed && rename(sibling, path) < 0)
		failed = err_set_errno(err, "rename");
	if (!failed)
		return 0;
	unlink(sibling);
	return err_wrap(err, "%s", path);
}

int fs_write_file(const char *path, const void *bytes, size_t length, mode_t mode, struct err *err)
{
	return replace(path, bytes, length, mode, DURABLE, err);
}

int fs_write_volatile(const char *path, const void *bytes, size_t length, mode_t mode,
		      struct err *err)
{
	return replace(path, bytes, length, mode, VOLATILE, err);
}

int fs_write_private(const char *path, const void *bytes, size_t length, struct err *err)
{
	int fd cleanup_close =
		open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return err_set_errno(err, "cannot write %s", path);
	return fs_write_all(fd, bytes, length, err) < 0 ? err_wrap(err, "%s", path) : 0;
}

/* Not EEXIST alone says that it is there: a read-only or automounted parent answers otherwise. */
static int make_directory(const char *path, mode_t mode, struct err *err)
{
	if (mkdir(path, mode) == 0)
		return 0;
	int number = errno;
	if (fs_is_directory(path))
		return 0;
	if (number == EEXIST || number == ENOTDIR)
		return err_set(err, ERR_INPUT, "%s: is not a directory", path);
	if (number == ENOENT) /* its parent is there: a file system such as /proc */
		return err_set(err, ERR_DENIED, "%s: nobody can make a directory there", path);
	errno = number;
	return err_set_errno(err, "%s", path);
}

int fs_make_directories(const char *path, mode_t mode, struct err *err)
{
	char *prefix cleanup_free = mem_strdup(path);
	size_t length = strlen(path);

	while (length > 1 && prefix[length - 1] == '/')
		prefix[--length] = '\0';
	for (char *c = prefix + 1; length > 0; c++) {
		char end = *c;
		if (end != '/' && end != '\0')
			continue;
		*c = '\0';
		if (make_directory(prefix, mode, err) < 0)
			return -1;
		*c = end;
		if (end == '\0')
			break;
	}
	return 0;
}

static bool has_name(int fd, const char *path)
{
	struct stat held, named;

	return fstat(fd, &held) == 0 && stat(path, &named) == 0 && held.st_dev == named.st_dev &&
	       held.st_ino == named.st_ino;
}

int fs_lock(const char *path, struct err *err)
{
	for (;;) {
		int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		if (fd < 0)
			return err_set_errno(err, "%s", path);
		int result;
		do
			result = flock(fd, LOCK_EX);
		while (result < 0 && errno == EINTR);
		if (result == 0 && has_name(fd, path))
			return fd;
		if (result < 0)
			err_set_errno(err, "%s", path);
		close(fd);
		if (result < 0)
			return -1;
	}
}
