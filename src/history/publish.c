#include "history/publish.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "history/layout.h"

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
	unsigned number;

	/* A few bytes are never refused nor cut short once the pool is up. */
	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		BUG("getrandom failed");
	return (int)(number & INT_MAX);
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

static int sync_directory(const char *path, struct err *err)
{
	int fd cleanup_close = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	/* EINVAL: a file system that cannot. */
	if (fd < 0 || (fsync(fd) < 0 && errno != EINVAL))
		return err_set_errno(err, "%s", path);
	return 0;
}

/* The mode is meant as given. Not by chmod(): that takes the set-group-ID bit, and with it the
 * location's group, from who is no member of the group. */
static int make_directory(const char *path, mode_t mode)
{
	mode_t before = umask(0);
	int result = mkdir(path, mode & 01777);

	umask(before);
	return result;
}

static int copy_directory(const char *from, const char *to, const struct history_access *access,
			  struct err *err);

static int copy_member(const char *from, const char *to, const char *name,
		       const struct history_access *access, struct err *err)
{
	char *source cleanup_free = fs_join(from, name), *target cleanup_free = fs_join(to, name);

	return fs_is_directory(source) ? copy_directory(source, target, access, err)
				       : copy_file(source, target, access->file, err);
}

static int copy_directory(const char *from, const char *to, const struct history_access *access,
			  struct err *err)
{
	DIR *directory cleanup_dir = opendir(from);
	const struct dirent *entry;

	if (!directory)
		return err_set_errno(err, "%s", from);
	if (make_directory(to, access->directory) < 0)
		return err_set_errno(err, "%s", to);
	while ((entry = readdir(directory)))
		if (*entry->d_name != '.' && copy_member(from, to, entry->d_name, access, err) < 0)
			return -1;
	return sync_directory(to, err);
}

/* ---- days --------------------------------------------------------------------------------- */

static int make_location(const char *location, mode_t *mode, struct err *err)
{
	struct stat status;

	if (fs_make_directories(location, 0700, err) < 0)
		return -1;
	if (stat(location, &status) < 0)
		return err_set_errno(err, "%s", location);
	*mode = status.st_mode & 07777;
	return 0;
}

/* One after the other, so that only those that are made here get the mode. */
static int make_days(const char *location, const char *path, struct err *err)
{
	mode_t mode = 0;

	if (make_location(location, &mode, err) < 0)
		return -1;
	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		char *day cleanup_free = mem_printf("%s/%.*s", location, (int)(slash - path), path);
		if (make_directory(day, mode) < 0 && errno != EEXIST)
			return err_set_errno(err, "%s", day);
	}
	return 0;
}

/* ------------------------------------------------------------------------------------------- */

static char *place_of(const struct history_target *target)
{
	char *path cleanup_free = history_path(target->submitted_ms, target->job_id);

	return fs_join(target->location, path);
}

bool history_is_published(const struct history_target *target)
{
	char *place cleanup_free = place_of(target);

	return fs_is_directory(place);
}

static int move(const char *side, const char *place, struct err *err)
{
	char *day cleanup_free = fs_dirname(place);

	if (rename(side, place) < 0) {
		if (errno != EEXIST && errno != ENOTEMPTY)
			return err_set_errno(err, "%s", place);
		return fs_remove_tree(side, err); /* somebody was faster */
	}
	return sync_directory(day, err);
}

int history_publish(const char *directory, const struct history_target *target, struct err *err)
{
	char *path cleanup_free =
		history_side_path(target->submitted_ms, target->job_id, target->attempt);
	char *side cleanup_free = fs_join(target->location, path);
	char *place cleanup_free = place_of(target);

	if (history_is_published(target))
		return 0;
	if (make_days(target->location, path, err) < 0 || fs_remove_tree(side, err) < 0)
		return -1;
	if (copy_directory(directory, side, &target->access, err) == 0 &&
	    move(side, place, err) == 0)
		return 0;
	fs_remove_tree(side, NULL);
	return -1;
}
