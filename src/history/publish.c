#include "history/publish.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/str.h"
#include "history/layout.h"
#include "history/summary.h"

struct history_access history_access_of(const char *permissions)
{
	if (str_equal(permissions, "all"))
		return (struct history_access){0755, 0644};
	if (str_equal(permissions, "group"))
		return (struct history_access){0750, 0640};
	return (struct history_access){0700, 0600};
}

int history_attempt(void)
{
	return (int)(random_u64() & INT_MAX);
}

/* ---- copying ------------------------------------------------------------------------------ */

static int copy_file(const char *from, const char *to, mode_t mode, struct err *err)
{
	if (fs_clone_tree(from, to, 0, err) < 0)
		return -1;
	int fd cleanup_close = open(to, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fchmod(fd, mode) < 0 || fsync(fd) < 0)
		return err_set_errno(err, "%s", to);
	return 0;
}

static int sync_directory(int parent, const char *name, struct err *err)
{
	int fd cleanup_close = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	/* EINVAL: a file system that cannot. */
	if (fd < 0 || (fsync(fd) < 0 && errno != EINVAL))
		return err_set_errno(err, "%s", name);
	return 0;
}

/* The mode is meant as given. Not by chmod(): that takes the set-group-ID bit, and with it the
 * location's group, from who is no member of the group. */
static int make_directory(int parent, const char *name, mode_t mode)
{
	mode_t before = umask(0);
	int result = mkdirat(parent, name, mode & 01777);

	umask(before);
	return result;
}

static int copy_members(const char *from, const char *to, const struct history_access *access,
			struct err *err);

static int copy_member(const char *from, const char *to, const char *name,
		       const struct history_access *access, struct err *err)
{
	char *source cleanup_free = fs_join(from, name), *target cleanup_free = fs_join(to, name);

	if (!fs_is_directory(source))
		return copy_file(source, target, access->file, err);
	if (make_directory(AT_FDCWD, target, access->directory) < 0)
		return err_set_errno(err, "%s", target);
	return copy_members(source, target, access, err);
}

/* Of one directory into another that is there. */
static int copy_members(const char *from, const char *to, const struct history_access *access,
			struct err *err)
{
	DIR *directory cleanup_dir = opendir(from);
	const struct dirent *entry;

	if (!directory)
		return err_set_errno(err, "%s", from);
	while ((entry = readdir(directory)))
		if (*entry->d_name != '.' && copy_member(from, to, entry->d_name, access, err) < 0)
			return -1;
	return sync_directory(AT_FDCWD, to, err);
}

/* ---- days --------------------------------------------------------------------------------- */

static int open_location(const char *location, struct stat *status, struct err *err)
{
	int fd cleanup_close = open(location, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, status) < 0)
		return err_set_errno(err, "%s", location);
	return mem_steal_fd(&fd);
}

/* Where all may add to the store and nobody may remove what is another's, a day that somebody else
 * has made is to be no exception. */
static int check_day(const char *path, const struct stat *day, const struct stat *location,
		     struct err *err)
{
	if (!fs_others_may_replace(day->st_mode) || !(location->st_mode & S_ISVTX) ||
	    day->st_uid == geteuid() || day->st_uid == location->st_uid)
		return 0;
	return err_set(err, ERR_DENIED,
		       "%s: belongs to uid %u and lets others replace what is in it, as the store "
		       "does not; its sticky bit has to be set",
		       path, (unsigned)day->st_uid);
}

/* `path` could be neither made nor opened; where another user keeps us out, it is told which. */
static int fail_at(const char *path, struct err *err)
{
	char *above cleanup_free = fs_dirname(path);
	int number = errno;
	struct stat status;
	bool is_kept_out =
		number == EACCES && stat(above, &status) == 0 && status.st_uid != geteuid();

	errno = number;
	if (!is_kept_out)
		return err_set_errno(err, "%s", path);
	return err_set(err, ERR_DENIED, "%s: %s; %s belongs to uid %u", path, strerror(number),
		       above, (unsigned)status.st_uid);
}

/* A year, a month or a day. `mode`: one that is not there is made so; 0: none is made. */
static int open_part(int parent, const char *name, const char *path, mode_t mode, struct err *err)
{
	if (mode && make_directory(parent, name, mode) < 0 && errno != EEXIST)
		return fail_at(path, err);
	int fd = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	if (errno == ENOTDIR || errno == ELOOP)
		return err_set(err, ERR_DENIED,
			       "%s: is no directory, or a symbolic link, through which no history "
			       "is published; remove it",
			       path);
	return fail_at(path, err);
}

/* The directory of the target's day. Each part is opened by itself, so that no symbolic link that
 * another user put there leads elsewhere. Only those that are made here get the location's mode. */
static int open_day(const struct history_target *target, bool makes, struct err *err)
{
	char *day cleanup_free = history_day(target->submitted_ms);
	char *path cleanup_free = mem_strdup(target->location);
	struct str_list parts cleanup_str_list = {0};
	struct stat location = {0}, status = {0};
	int fd cleanup_close = open_location(target->location, &location, err);

	str_split(&parts, day, '/');
	for (size_t i = 0; fd >= 0 && i < parts.count; i++) {
		mem_replace(&path, fs_join(path, parts.items[i]));
		int next = open_part(fd, parts.items[i], path, makes ? location.st_mode & 07777 : 0,
				     err);
		close(fd);
		fd = next;
		if (fd >= 0 && fstat(fd, &status) < 0)
			return err_set_errno(err, "%s", path);
		if (fd >= 0 && check_day(path, &status, &location, err) < 0)
			return -1;
	}
	return mem_steal_fd(&fd);
}

/* ---- what is there ------------------------------------------------------------------------ */

static char *place_of(const struct history_target *target)
{
	char *path cleanup_free = history_path(target->submitted_ms, target->job_id);

	return fs_join(target->location, path);
}

static int open_entry(int day, const char *name)
{
	return openat(day, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* The id in the summary of the entry that is open, if it is this user's; NULL: it has none. The
 * caller frees. */
static char *read_own_id(int entry)
{
	int file cleanup_close = entry < 0 ? -1
					   : openat(entry, HISTORY_SUMMARY,
						    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat status;
	size_t length;

	if (file < 0 || fstat(entry, &status) < 0 || status.st_uid != geteuid())
		return NULL;
	char *text cleanup_free =
		fs_read_descriptor(file, HISTORY_SUMMARY, HISTORY_SUMMARY_CAP, &length, NULL);
	json_t *summary cleanup_json = text ? json_parse(text, length, NULL) : NULL;
	const char *id = json_string_value(json_object_get(summary, "id"));
	return id ? mem_strdup(id) : NULL;
}

/* Nobody else can make a directory that is ours, or change what is in it. But the owner of the day
 * can give one of ours another job's name, so its summary has to say whose it is. */
static bool is_own(int day, const struct history_target *target)
{
	int entry cleanup_close = open_entry(day, target->job_id);
	char *id cleanup_free = read_own_id(entry);

	return str_equal(id, target->job_id);
}

bool history_is_published(const struct history_target *target)
{
	int day cleanup_close = open_day(target, false, NULL);

	return day >= 0 && is_own(day, target);
}

/* 0: nothing is there. 1: the history is, published by another process of this user. -1: a reader
 * would find there what is not this job's. */
static int look_at_place(const struct history_target *target, int day, struct err *err)
{
	char *place cleanup_free = place_of(target);
	struct stat taker;

	if (fstatat(day, target->job_id, &taker, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (is_own(day, target))
		return 1;
	return err_set(err, ERR_DENIED,
		       "%s: is there already, belongs to uid %u and is not this job's history, "
		       "which is not published; that user or the owner of %s can remove it",
		       place, (unsigned)taker.st_uid, target->location);
}

/* Also by the way that readers take: owners of years, months and days can rename what is there. */
static int check_there(const struct history_target *target, const struct stat *brought,
		       struct err *err)
{
	int day cleanup_close = open_day(target, false, err);
	char *place cleanup_free = place_of(target);
	struct stat there;

	if (day < 0)
		return -1;
	if (fstatat(day, target->job_id, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	    there.st_dev == brought->st_dev && there.st_ino == brought->st_ino)
		return 0;
	return err_set(err, ERR_FAILED,
		       "%s: was published, and the owner of a directory above it has taken it away",
		       place);
}

/* ---- bringing ----------------------------------------------------------------------------- */

/* Beside its place. The directory stays what it is while it is filled, whatever its name becomes:
 * the caller closes it. -1: `err`. */
static int make_side(const struct history_target *target, int day, const char *side,
		     struct err *err)
{
	struct stat status;

	if (make_directory(day, side, target->access.directory) < 0)
		return err_set_errno(err, "%s", side);
	int fd cleanup_close = open_entry(day, side);
	if (fd < 0 || fstat(fd, &status) < 0)
		return err_set_errno(err, "%s", side);
	if (status.st_uid != geteuid())
		return err_set(err, ERR_DENIED, "%s: belongs to uid %u, not to us", side,
			       (unsigned)status.st_uid);
	return mem_steal_fd(&fd);
}

/* The directory that is open. It goes by its name only when nothing is in it: the owner of the day
 * may have given that name to another one. */
static int remove_side(int day, int fd, const char *side, struct err *err)
{
	if (fs_empty_tree_of(day, fd, geteuid(), side, err) < 0)
		return -1;
	return unlinkat(day, side, AT_REMOVEDIR) < 0 ? err_set_errno(err, "%s", side) : 0;
}

/* Removes the leftover of a killed process at the same name, and no other job's history there. */
static int clear_side(const struct history_target *target, int day, const char *side,
		      struct err *err)
{
	int fd cleanup_close = open_entry(day, side);

	if (fd < 0)
		return errno == ENOENT || unlinkat(day, side, 0) == 0
			       ? 0
			       : err_set_errno(err, "%s", side);
	char *id cleanup_free = read_own_id(fd);
	if (id && !str_equal(id, target->job_id))
		return err_set(err, ERR_DENIED, "%s: is the history of %s", side, id);
	return remove_side(day, fd, side, err);
}

static int fill_side(const char *directory, const struct history_target *target, int fd,
		     const char *side, struct stat *brought, struct err *err)
{
	char *path cleanup_free = mem_printf("/proc/self/fd/%d", fd);

	if (copy_members(directory, path, &target->access, err) < 0)
		return err_rename(err, path, side);
	return fstat(fd, brought) < 0 ? err_set_errno(err, "%s", side) : 0;
}

/* 1: another process of this user was faster. */
static int move(const struct history_target *target, int day, const char *side, struct err *err)
{
	if (renameat(day, side, day, target->job_id) == 0)
		return sync_directory(day, ".", err);
	int failure = errno;
	int found = look_at_place(target, day, err);
	if (found != 0)
		return found;
	errno = failure;
	return err_set_errno(err, "%s", target->job_id);
}

static int bring(const char *directory, const struct history_target *target, int day,
		 const char *side, struct err *err)
{
	struct stat brought = {0};
	int fd cleanup_close = make_side(target, day, side, err);

	if (fd < 0)
		return -1;
	int moved = fill_side(directory, target, fd, side, &brought, err) < 0
			    ? -1
			    : move(target, day, side, err);
	if (moved == 0)
		return check_there(target, &brought, err);
	remove_side(day, fd, side, NULL);
	return moved;
}

static int publish(const char *directory, const struct history_target *target, int day,
		   const char *side, struct err *err)
{
	int found = look_at_place(target, day, err);

	if (found != 0)
		return found;
	if (clear_side(target, day, side, err) == 0) {
		int brought = bring(directory, target, day, side, err);
		if (brought >= 0)
			return brought;
	}
	char *place cleanup_free = place_of(target);
	return err_wrap(err, "%s", place);
}

/* Of the location and the parts of the day, the first that is not there: can it be made? */
static int check_missing(const struct history_target *target, struct err *err)
{
	char *day cleanup_free = history_day(target->submitted_ms);
	char *above cleanup_free = fs_dirname(target->location);
	char *missing cleanup_free = mem_strdup(target->location);
	struct str_list parts cleanup_str_list = {0};

	str_split(&parts, day, '/');
	for (size_t i = 0; i < parts.count && fs_exists(missing); i++) {
		mem_replace(&above, mem_steal(&missing));
		missing = fs_join(above, parts.items[i]);
	}
	/* Directories above the location may have to be made, too. */
	if (access(above, W_OK | X_OK) == 0 || errno == ENOENT)
		return 0;
	return fail_at(missing, err);
}

int history_check(const struct history_target *target, struct err *err)
{
	struct err why cleanup_err = {0};

	if (fs_exists(target->location) && !fs_is_directory(target->location))
		return err_set(err, ERR_IO, "%s: is not a directory", target->location);
	int day cleanup_close = open_day(target, false, &why);

	if (day < 0 && why.kind == ERR_NOT_FOUND)
		return check_missing(target, err);
	if (day < 0)
		return err_copy(err, &why);
	int found = look_at_place(target, day, err);
	if (found != 0)
		return found < 0 ? -1 : 0;
	char *path cleanup_free = mem_printf("/proc/self/fd/%d", day);
	if (access(path, W_OK | X_OK) == 0)
		return 0;
	char *place cleanup_free = place_of(target);
	return fail_at(place, err);
}

int history_publish(const char *directory, const struct history_target *target, struct err *err)
{
	if (fs_make_directories(target->location, 0700, err) < 0)
		return -1;
	int day cleanup_close = open_day(target, true, err);
	if (day < 0)
		return -1;
	char *side cleanup_free = mem_printf(".%s.%d", target->job_id, target->attempt);
	int result = publish(directory, target, day, side, err);
	if (result < 0)
		fs_explain_room(target->location, err);
	return result < 0 ? -1 : 0;
}
