#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"

/* The nearest directory above that is there: `path` itself may not be made yet. */
static char *find_existing(const char *path)
{
	char *at = mem_strdup(path);

	while (!fs_exists(at) && !str_equal(at, "/") && !str_equal(at, "."))
		mem_replace(&at, fs_dirname(at));
	return at;
}

/* mountinfo writes a blank as "\040". */
static void unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; to++) {
		unsigned code;
		if (*from == '\\' && sscanf(from + 1, "%3o", &code) == 1) {
			*to = (char)code;
			from += strlen("\\040");
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

/* "36 35 98:0 /root /mount rw,noatime master:1 - ext3 /dev/root rw": the fifth word is the mount
 * point, the one behind " - " the type (proc_pid_mountinfo(5)). */
static bool parse_mount(char *line, dev_t device, char **point, char **type)
{
	unsigned major_number, minor_number;
	int before = 0, after = 0;
	char *separator = strstr(line, " - ");

	if (!separator ||
	    sscanf(line, "%*d %*d %u:%u %*s %n%*s%n", &major_number, &minor_number, &before,
		   &after) != 2 ||
	    after == 0 || makedev(major_number, minor_number) != device)
		return false;
	char *words = separator + strlen(" - ");
	*type = mem_strndup(words, strcspn(words, " \n"));
	*point = mem_strndup(line + before, (size_t)(after - before));
	unescape(*point);
	return true;
}

/* Of several mounts of one file system the one that holds `path`, and of those the last: it hides
 * the others. */
static bool find_mount(const char *path, dev_t device, char **point, char **type)
{
	FILE *mounts = fopen("/proc/self/mountinfo", "re");
	char *line = NULL;
	size_t size = 0;

	*point = *type = NULL;
	while (mounts && getline(&line, &size, mounts) >= 0) {
		char *this_point cleanup_free = NULL, *this_type cleanup_free = NULL;
		if (!parse_mount(line, device, &this_point, &this_type) ||
		    !fs_is_below(path, this_point) ||
		    (*point && strlen(this_point) < strlen(*point)))
			continue;
		mem_replace(point, mem_steal(&this_point));
		mem_replace(type, mem_steal(&this_type));
	}
	free(line);
	if (mounts)
		fclose(mounts);
	return *point != NULL;
}

int fs_check_unmounted(const char *path, struct err *err)
{
	char *real cleanup_free = realpath(path, NULL);
	FILE *mounts cleanup_file = real ? fopen("/proc/self/mountinfo", "re") : NULL;
	char *line cleanup_free = NULL;
	size_t size = 0;

	while (mounts && getline(&line, &size, mounts) >= 0) {
		char *point cleanup_free = NULL;
		if (sscanf(line, "%*d %*d %*s %*s %ms", &point) != 1)
			continue;
		unescape(point);
		if (fs_is_below(point, real))
			return err_set(err, ERR_IO,
				       "a file system is mounted on %s; unmount it first", point);
	}
	return 0;
}

static char *describe_free(const struct statvfs *room)
{
	int64_t unit = (int64_t)room->f_frsize;
	char *available cleanup_free = str_format_bytes((int64_t)room->f_bavail * unit);
	char *total cleanup_free = str_format_bytes((int64_t)room->f_blocks * unit);

	if (room->f_favail == 0 && room->f_files > 0 && room->f_bavail > 0)
		return mem_printf("%s of %s free, but no inodes", available, total);
	return mem_printf("%s of %s free", available, total);
}

char *fs_describe_room(const char *path)
{
	char *there cleanup_free = find_existing(path);
	char *real cleanup_free = realpath(there, NULL);
	char *point cleanup_free = NULL, *type cleanup_free = NULL;
	struct statvfs room;
	struct stat info;

	if (!real || stat(real, &info) < 0 || statvfs(real, &room) < 0)
		return mem_strdup(path);
	char *free_text cleanup_free = describe_free(&room);
	if (!find_mount(real, info.st_dev, &point, &type))
		return mem_printf("the file system of %s (%s)", there, free_text);
	return mem_printf("%s (%s: %s)", point, type, free_text);
}

char *fs_describe_errno(const char *path, int number)
{
	char *room cleanup_free = NULL;

	if (number != ENOSPC && number != EDQUOT)
		return mem_strdup(strerror(number));
	room = fs_describe_room(path);
	return number == EDQUOT ? mem_printf("the quota on %s is used up", room)
				: mem_printf("no space left on %s", room);
}

/* In a file system that counts no blocks, as /proc or a tmpfs without a limit, a directory is
 * tried, and removed. */
static int try_directory(const char *there, struct err *err)
{
	char *trial cleanup_free = fs_join(there, ".tony-XXXXXX");

	if (mkdtemp(trial))
		return rmdir(trial);
	if (errno == ENOENT)
		return err_set(err, ERR_DENIED, "nobody can make a directory in %s", there);
	return err_set_errno(err, "cannot write to %s", there);
}

int fs_check_room(const char *path, struct err *err)
{
	char *there cleanup_free = find_existing(path);
	struct statvfs room;

	if (statvfs(there, &room) == 0 && room.f_blocks == 0)
		return try_directory(there, err);
	if (access(there, W_OK | X_OK) < 0 || statvfs(there, &room) < 0)
		return err_set_errno(err, "cannot write to %s", there);
	if (room.f_bavail > 0 && (room.f_favail > 0 || room.f_files == 0))
		return 0;
	err_set(err, ERR_NO_SPACE, "no space left");
	return fs_explain_room(path, err);
}

int fs_explain_room(const char *path, struct err *err)
{
	char *room cleanup_free = NULL;

	if (!err || (err->kind != ERR_NO_SPACE && err->kind != ERR_QUOTA))
		return -1;
	room = fs_describe_room(path);
	return err_set(err, err->kind,
		       err->kind == ERR_NO_SPACE
			       ? "%s; make room on %s"
			       : "%s; remove files, or ask for a larger quota on %s",
		       err_message(err), room);
}
