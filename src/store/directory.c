/* A store in a directory. No symbolic link that somebody put there leads elsewhere; the location
 * itself may be reached through some. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/user.h"
#include "store/store_internal.h"

#define REMOVED ".removed" /* ".<name>.removed" is an entry that is being removed */

enum { BLOCK = 64 << 10, PARENT_MODE = 0700 };

/* ---- opening ------------------------------------------------------------------------------ */

static int fail(const struct store *store, const char *path, struct err *err)
{
	return err_set_errno(err, "%s%s%s", store->root, *path ? "/" : "", path);
}

/* A symbolic link where none may be is nobody's file. */
static int refuse(const struct store *store, const char *path, struct err *err)
{
	if (errno == ELOOP || errno == ENOTDIR)
		return err_set(err, ERR_NOT_FOUND, "%s/%s: is not in the store", store->root, path);
	return fail(store, path, err);
}

static int open_below(const struct store *store, const char *path, struct err *err)
{
	int flags = *path ? O_DIRECTORY : O_NONBLOCK | O_NOCTTY; /* it may be a file itself */
	int root cleanup_close = open(store->root, O_RDONLY | O_CLOEXEC | flags);

	if (root < 0)
		return fail(store, "", err);
	if (!*path)
		return mem_steal_fd(&root);
	int fd = fs_open_below(root, path);
	return fd < 0 ? refuse(store, path, err) : fd;
}

/* "": the location's own. */
static char *parent_of(const char *path)
{
	char *parent cleanup_free = fs_dirname(path);

	return mem_strdup(str_equal(parent, ".") ? "" : parent);
}

static int open_parent(const struct store *store, const char *path, struct err *err)
{
	char *parent cleanup_free = parent_of(path);

	return open_below(store, parent, err);
}

static char *owner_of(uid_t user)
{
	return user_is_told_apart(user) ? user_name_of(user) : mem_strdup(STORE_NOBODY);
}

/* The status is that of what is open, whatever has taken its place since. */
static int check_opened(const struct store *store, const struct store_request *request, int fd,
			mode_t type, struct stat *status, struct err *err)
{
	if (fstat(fd, status) < 0)
		return fail(store, request->path, err);
	char *owner cleanup_free = request->owner ? owner_of(status->st_uid) : NULL;
	if (owner && (!str_equal(owner, request->owner) || (status->st_mode & S_IFMT) != type))
		return err_set(err, ERR_DENIED, "%s/%s: another one, %s's, has taken its place",
			       store->root, request->path, owner);
	if (type == S_IFREG && !S_ISREG(status->st_mode))
		return err_set(err, ERR_NOT_FOUND, "%s/%s: is not a file", store->root,
			       request->path);
	return 0;
}

/* To read from. */
static int open_regular(const struct store *store, const struct store_request *request,
			struct stat *status, struct err *err)
{
	int fd cleanup_close = open_below(store, request->path, err);

	if (fd < 0 || check_opened(store, request, fd, S_IFREG, status, err) < 0)
		return -1;
	return mem_steal_fd(&fd);
}

/* To write to. `flags`: how. */
static int open_to_write(const struct store *store, const struct store_request *request, int parent,
			 int flags, struct err *err)
{
	struct stat status;
	int fd cleanup_close =
		openat(parent, fs_basename(request->path),
		       flags | O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
		       request->permission);

	if (fd < 0)
		return refuse(store, request->path, err);
	if (check_opened(store, request, fd, S_IFREG, &status, err) < 0)
		return -1;
	return mem_steal_fd(&fd);
}

static int check_cap(const struct store *store, const char *path, const struct stat *status,
		     int64_t cap, struct err *err)
{
	return status->st_size <= cap ? 0
				      : err_set(err, ERR_INPUT, "%s/%s: is larger than %lld bytes",
						store->root, path, (long long)cap);
}

/* ---- looking ------------------------------------------------------------------------------ */

static int64_t ms_of(const struct timespec *time)
{
	return (int64_t)time->tv_sec * 1000 + time->tv_nsec / 1000000;
}

/* `item` gets `owner`. `path`: through the descriptor that is open. */
static void describe(struct store_item *item, const char *name, const char *path,
		     const struct stat *status, char *owner)
{
	*item = (struct store_item){
		.name = mem_strdup(name),
		.is_directory = S_ISDIR(status->st_mode),
		.is_file = S_ISREG(status->st_mode),
		.length = status->st_size,
		.modified_ms = fs_modified_ms(status),
		.accessed_ms = ms_of(&status->st_atim),
		.permission = status->st_mode & 07777,
		.others_may_write =
			!S_ISLNK(status->st_mode) && user_write_remedy(path, status) != NULL,
		.others_may_replace =
			S_ISDIR(status->st_mode) && user_replace_remedy(path, status) != NULL,
		.owner = owner,
	};
}

static int look(struct store *store, const struct store_request *request, struct store_item *item,
		struct err *err)
{
	int fd cleanup_close = open_below(store, request->path, err);
	struct stat status;

	if (fd < 0)
		return -1;
	if (fstat(fd, &status) < 0)
		return fail(store, request->path, err);
	char *path cleanup_free = mem_printf("/proc/self/fd/%d", fd);
	describe(item, "", path, &status, owner_of(status.st_uid));
	return 0;
}

/* Most entries are the directory's owner's: a name service is asked once for all of them. */
static void visit_entries(const struct store_request *request, DIR *directory,
			  const struct stat *above)
{
	char *owner cleanup_free = owner_of(above->st_uid);
	const struct dirent *entry;
	struct stat status;

	while ((entry = readdir(directory))) {
		struct store_item item cleanup_store_item = {0};
		if (str_equal(entry->d_name, ".") || str_equal(entry->d_name, "..") ||
		    fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		bool is_same = status.st_uid == above->st_uid;
		char *path cleanup_free =
			mem_printf("/proc/self/fd/%d/%s", dirfd(directory), entry->d_name);
		describe(&item, entry->d_name, path, &status,
			 is_same ? mem_strdup(owner) : owner_of(status.st_uid));
		request->visit(request->data, &item);
	}
}

static int list(struct store *store, const struct store_request *request, struct err *err)
{
	int fd cleanup_close = open_below(store, request->path, err);
	struct stat status;

	if (fd < 0 || check_opened(store, request, fd, S_IFDIR, &status, err) < 0)
		return -1;
	DIR *directory cleanup_dir = fdopendir(fd);
	if (!directory)
		return refuse(store, request->path, err);
	mem_steal_fd(&fd);
	visit_entries(request, directory, &status);
	return 0;
}

/* ---- reading ------------------------------------------------------------------------------ */

static int read_whole(struct store *store, const struct store_request *request, struct str *bytes,
		      struct err *err)
{
	struct stat status;
	int fd cleanup_close = open_regular(store, request, &status, err);
	size_t length;

	if (fd < 0 || check_cap(store, request->path, &status, request->length, err) < 0)
		return -1;
	char *text cleanup_free =
		fs_read_descriptor(fd, request->path, (size_t)request->length, &length, err);
	if (!text)
		return -1;
	str_append_bytes(bytes, text, length);
	return 0;
}

static bool goes_on(const struct store_request *request, int64_t bytes)
{
	const struct store_progress *progress = request->progress;

	return !progress || progress->tell(progress->data, bytes);
}

/* Appends what is asked for of `from`, from `offset` on, to what is open. How much it was. */
static int64_t copy(const struct store_request *request, int from, int64_t offset, int to,
		    struct err *err)
{
	char *block cleanup_free = mem_alloc(BLOCK);
	const char *name = request->path;
	int64_t left = request->length;

	while (left > 0) {
		ssize_t got = pread(from, block, left < BLOCK ? (size_t)left : BLOCK, offset);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_set_errno(err, "%s", name);
		if (got == 0)
			break;
		if (fs_write_all(to, block, (size_t)got, err) < 0)
			return err_wrap(err, "%s", name);
		offset += got;
		left -= got;
		if (!goes_on(request, request->length - left))
			return err_set(err, ERR_FAILED, "%s: interrupted", name);
	}
	return request->length - left;
}

static int download(struct store *store, const struct store_request *request, struct err *err)
{
	struct stat status;
	int fd cleanup_close = open_regular(store, request, &status, err);

	if (fd < 0)
		return -1;
	if (lseek(request->fd, request->offset, SEEK_SET) < 0 ||
	    ftruncate(request->fd, request->offset) < 0)
		return fail(store, request->path, err);
	return copy(request, fd, request->offset, request->fd, err) < 0 ? -1 : 0;
}

/* Both descriptors are of one moment, whatever is renamed meanwhile. */
static int open_file(struct store *store, const char *path, int64_t cap, char **keeper,
		     struct err *err)
{
	const struct store_request request = {.path = path};
	int directory cleanup_close = open_parent(store, path, err);
	struct stat above, status;

	if (directory < 0)
		return -1;
	int fd cleanup_close = fs_open_below(directory, fs_basename(path));
	if (fd < 0)
		return refuse(store, path, err);
	if (fstat(directory, &above) < 0)
		return fail(store, path, err);
	if (check_opened(store, &request, fd, S_IFREG, &status, err) < 0 ||
	    check_cap(store, path, &status, cap, err) < 0)
		return -1;
	if (keeper)
		*keeper = owner_of(above.st_uid);
	return mem_steal_fd(&fd);
}

/* ---- writing ------------------------------------------------------------------------------ */

static int sync_file(const struct store *store, const char *path, int fd, struct err *err)
{
	/* EINVAL: a file system that cannot. */
	return fsync(fd) < 0 && errno != EINVAL ? fail(store, path, err) : 0;
}

/* The mode is meant as given. Not by chmod(): that takes the set-group-ID bit, and with it the
 * location's group, from users who are no members of the group. */
static int make_directory(int parent, const char *name, mode_t mode)
{
	mode_t before = umask(0);
	int result = mkdirat(parent, name, mode & 01777);

	umask(before);
	return result < 0 && errno != EEXIST ? -1 : 0;
}

static int make_directories(struct store *store, const char *path, mode_t mode, struct err *err)
{
	struct str_list parts cleanup_str_list = {0};

	if (fs_make_directories(store->root, mode, err) < 0)
		return -1;
	int fd cleanup_close = open(store->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (*path)
		str_split(&parts, path, '/');
	for (size_t i = 0; fd >= 0 && i < parts.count; i++) {
		int made = make_directory(fd, parts.items[i], mode);
		int next = made < 0 ? -1
				    : openat(fd, parts.items[i],
					     O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		int failure = errno;
		close(fd);
		errno = failure;
		fd = next;
	}
	return fd < 0 ? refuse(store, path, err) : 0;
}

static int upload(struct store *store, const struct store_request *request, struct err *err)
{
	char *above cleanup_free = parent_of(request->path);

	if (make_directories(store, above, PARENT_MODE, err) < 0)
		return -1;
	int parent cleanup_close = open_below(store, above, err);
	int fd cleanup_close =
		parent < 0 ? -1 : open_to_write(store, request, parent, O_CREAT | O_TRUNC, err);
	if (fd < 0)
		return -1;
	if (fchmod(fd, request->permission) < 0)
		return fail(store, request->path, err);
	int64_t copied = copy(request, request->fd, 0, fd, err);
	if (copied < 0)
		return -1;
	if (copied < request->length)
		return err_set(err, ERR_IO, "%s: its source ends after %lld bytes", request->path,
			       (long long)copied);
	return sync_file(store, request->path, fd, err);
}

static int append(struct store *store, const struct store_request *request, struct err *err)
{
	int parent cleanup_close = open_parent(store, request->path, err);
	int fd cleanup_close =
		parent < 0 ? -1 : open_to_write(store, request, parent, O_APPEND, err);

	if (fd < 0)
		return -1;
	if (fs_write_all(fd, request->bytes, (size_t)request->length, err) < 0)
		return err_wrap(err, "%s/%s", store->root, request->path);
	return sync_file(store, request->path, fd, err);
}

static int rename_path(struct store *store, const struct store_request *request, struct err *err)
{
	int from cleanup_close = open_parent(store, request->path, err);
	int to cleanup_close = from < 0 ? -1 : open_parent(store, request->to, err);

	if (to < 0)
		return -1;
	if (renameat2(from, fs_basename(request->path), to, fs_basename(request->to),
		      request->keeps ? RENAME_NOREPLACE : 0) == 0)
		return sync_file(store, request->to, to, err);
	return errno == EEXIST ? err_set(err, ERR_FAILED, "%s/%s: is there already", store->root,
					 request->to)
			       : fail(store, request->path, err);
}

static struct timespec time_of(int64_t ms)
{
	return ms < 0 ? (struct timespec){.tv_nsec = UTIME_OMIT}
		      : (struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
}

static int set_time(struct store *store, const struct store_request *request, struct err *err)
{
	const struct timespec times[] = {time_of(request->accessed_ms),
					 time_of(request->modified_ms)};
	int fd cleanup_close = open_below(store, request->path, err);

	if (fd < 0)
		return -1;
	return futimens(fd, times) < 0 ? fail(store, request->path, err) : 0;
}

/* ---- removing ----------------------------------------------------------------------------- */

/* The mode of a directory that its owner, or root, has begun to remove. Nobody else can set it,
 * whereas the owner of the directory above can give any name to what is there. Nothing else has it:
 * S_ISUID means nothing to a directory. */
#define REMOVED_MODE ((mode_t)(S_ISUID | S_ISVTX | S_IRWXU))

/* Root finishes what its own retention, or the owner, has begun. */
static bool is_marked(const struct stat *status)
{
	return (status->st_mode & 07777) == REMOVED_MODE &&
	       (status->st_uid == geteuid() || geteuid() == 0);
}

static int open_entry(int parent, const char *name, struct stat *status)
{
	int fd cleanup_close =
		openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd >= 0 && fstat(fd, status) == 0 ? mem_steal_fd(&fd) : -1;
}

/* The directory that was opened, whatever its name has become since. `owner`: of all directories
 * that go, since he may have moved there what holds another user's; NULL: they may be anybody's. */
static int remove_opened(int parent, int fd, const uid_t *owner, const char *name,
			 const char *shown, struct err *err)
{
	if ((owner ? fs_empty_tree_of(parent, fd, *owner, shown, err)
		   : fs_empty_tree(parent, fd, shown, err)) < 0)
		return -1;
	if (unlinkat(parent, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return err_set_errno(err, "%s", shown);
	return 0;
}

static void remove_rest(int parent, const char *name, const char *above)
{
	char *shown cleanup_free = fs_join(above, name);
	struct err err cleanup_err = {0};
	struct stat status = {0};
	int fd cleanup_close = open_entry(parent, name, &status);
	const uid_t *owner = status.st_uid == geteuid() ? NULL : &status.st_uid;

	if (fd < 0 || !is_marked(&status) ||
	    remove_opened(parent, fd, owner, name, shown, &err) == 0)
		return;
	if (err.kind == ERR_DENIED) {
		log_warning("%s", err_message(&err));
		return;
	}
	char *quoted cleanup_free = str_shell_quote(shown);
	log_warning("%s; remove what is left: rm -rf --one-file-system %s", err_message(&err),
		    quoted);
}

/* Entries that a killed process had begun to remove. */
static void remove_rests(int parent, const char *above)
{
	int fd cleanup_close = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory cleanup_dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (directory)
		mem_steal_fd(&fd);
	while (directory && (entry = readdir(directory)))
		if (*entry->d_name == '.' && str_ends_with(entry->d_name, REMOVED))
			remove_rest(parent, entry->d_name, above);
}

/* Is it the directory that is meant? */
static int check_content(const struct store_request *request, int directory, const char *shown,
			 struct err *err)
{
	int fd cleanup_close = openat(directory, request->to,
				      O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	size_t length = 0;
	char *text cleanup_free =
		fd < 0 ? NULL
		       : fs_read_descriptor(fd, shown, (size_t)request->length, &length, NULL);
	bool is_meant = request->bytes ? text && length == (size_t)request->length &&
						 memcmp(text, request->bytes, length) == 0
				       : !text;

	return is_meant ? 0
			: err_set(err, ERR_DENIED, "%s: another one has taken its place", shown);
}

/* Another process of this user's removes it: first of all it renames what it removes. */
static bool is_gone(int parent, const char *name)
{
	return faccessat(parent, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
}

/* Under a name that is no entry's, since half of an entry must not look like the whole. An entry
 * that cannot be renamed is removed where it is. */
static int remove_below(const struct store *store, const struct store_request *request, int parent,
			const char *above, struct err *err)
{
	const char *name = fs_basename(request->path);
	char *there cleanup_free = fs_join(above, name);
	char *aside cleanup_free = mem_printf(".%s" REMOVED, name);
	char *shown cleanup_free = fs_join(above, aside);
	struct err changed cleanup_err = {0};
	struct stat status;
	int fd cleanup_close = open_entry(parent, name, &status);

	if (fd < 0 && request->to)
		return errno == ENOENT ? 0 : err_set_errno(err, "%s", there);
	if (fd < 0)
		return fs_remove_tree_at(parent, name, there, err);
	if (check_opened(store, request, fd, S_IFDIR, &status, err) < 0)
		return -1;
	if (request->to && check_content(request, fd, there, &changed) < 0)
		return is_gone(parent, name) ? 0 : err_copy(err, &changed);
	bool is_aside = *name != '.' && fchmod(fd, REMOVED_MODE) == 0 &&
			renameat(parent, name, parent, aside) == 0;
	if (!is_aside && is_gone(parent, name))
		return 0;
	const uid_t *owner = request->owner ? &status.st_uid : NULL;
	return is_aside ? remove_opened(parent, fd, owner, aside, shown, err)
			: remove_opened(parent, fd, owner, name, there, err);
}

static int remove_empty(const struct store *store, const struct store_request *request,
			struct err *err)
{
	char *shown cleanup_free = fs_join(store->root, request->path);
	int parent cleanup_close = open_parent(store, request->path, err);
	struct stat status;
	int fd cleanup_close =
		parent < 0 ? -1 : open_entry(parent, fs_basename(request->path), &status);

	if (parent < 0)
		return -1;
	if (fd < 0)
		return refuse(store, request->path, err);
	remove_rests(fd, shown);
	return unlinkat(parent, fs_basename(request->path), AT_REMOVEDIR) < 0
		       ? fail(store, request->path, err)
		       : 0;
}

static int remove_path(struct store *store, const struct store_request *request, struct err *err)
{
	struct err missing cleanup_err = {0};
	char *path cleanup_free = fs_join(store->root, request->path);
	char *above cleanup_free = fs_dirname(path);

	if (request->keeps)
		return remove_empty(store, request, err);
	if (!*request->path)
		return fs_remove_tree(store->root, err);
	int fd cleanup_close = open_parent(store, request->path, &missing);

	if (fd < 0)
		return missing.kind == ERR_NOT_FOUND ? 0 : err_copy(err, &missing);
	remove_rests(fd, above);
	if (fs_check_unmounted(path, err) < 0 || remove_below(store, request, fd, above, err) < 0)
		return err_wrap(err, "cannot be removed");
	return 0;
}

/* ------------------------------------------------------------------------------------------- */

static int run(struct store *store, const struct store_request *request, struct store_item *item,
	       struct str *bytes, struct err *err)
{
	switch (request->verb) {
	case STORE_STAT:
		return look(store, request, item, err);
	case STORE_LIST:
		return list(store, request, err);
	case STORE_READ:
		return read_whole(store, request, bytes, err);
	case STORE_DOWNLOAD:
		return download(store, request, err);
	case STORE_UPLOAD:
		return upload(store, request, err);
	case STORE_APPEND:
		return append(store, request, err);
	case STORE_RENAME:
		return rename_path(store, request, err);
	case STORE_REMOVE:
		return remove_path(store, request, err);
	case STORE_MAKE_DIRECTORIES:
		return make_directories(store, request->path, request->permission, err);
	case STORE_SET_TIME:
		return set_time(store, request, err);
	case STORE_NOTES:
	case STORE_SET_NOTE:
		break; /* the traits say so */
	}
	BUG("verb %d of a directory", request->verb);
}

const struct store_ops store_directory_ops = {
	.traits = {.is_at_once = true},
	.run = run,
	.open_file = open_file,
};
