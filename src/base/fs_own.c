/* Files that are read, or run, because they are there: no other user may have put them there. All
 * is asked of descriptors, so that no other file can take the place of one in between. */
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

enum {
	LINKS_MAX = 40, /* as the kernel counts them */
	TARGET_CAP = 4096,
};

#define ELSEWHERE "go to another directory"

/* "nobody" of a user namespace may be anybody, even where this process is one, too. */
static bool is_own(uid_t owner)
{
	return user_is_trusted(owner) && user_is_told_apart(owner);
}

static int refuse_owner(const char *path, const char *what, uid_t owner, struct err *err)
{
	char *name cleanup_free = user_name_of(owner);

	return err_set(err, ERR_CONFIG,
		       "%s: %sbelongs to %s, whose commands would run as you; " ELSEWHERE, path,
		       what, name);
}

/* The caller can change the mode of what is his alone. A sticky directory is enough. In quotes: a
 * command ends where a copy of it does. */
static char *mode_remedy(const char *at, const char *chmod, const struct stat *status)
{
	char *path cleanup_free = fs_absolute(at, NULL);
	char *quoted cleanup_free = str_shell_quote(path ? path : at);

	if (status->st_uid != geteuid() && geteuid() != 0)
		return mem_strdup(ELSEWHERE);
	return S_ISDIR(status->st_mode) ? mem_printf("type \"chmod %s %s\" or \"chmod +t %s\"",
						     chmod, quoted, quoted)
					: mem_printf("type \"chmod %s %s\"", chmod, quoted);
}

/* `at`: the path itself, or its directory as `what` says. */
static int check(const char *path, const char *what, const char *at, int fd,
		 const struct stat *status, struct err *err)
{
	char opened[64];

	if (!is_own(status->st_uid))
		return refuse_owner(path, what, status->st_uid, err);
	snprintf(opened, sizeof(opened), "/proc/self/fd/%d", fd);
	const char *chmod = S_ISDIR(status->st_mode) ? user_replace_remedy(opened, status)
						     : user_write_remedy(opened, status);
	if (!chmod)
		return 0;
	char *remedy cleanup_free = mode_remedy(at, chmod, status);
	return err_set(err, ERR_CONFIG,
		       "%s: %shas mode %04o, so other users could write commands that run as you; "
		       "%s",
		       path, what, (unsigned)status->st_mode & 07777, remedy);
}

static int open_directory(const char *path, const char *directory, struct err *err)
{
	int fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0)
		err_set_errno(err, "%s", directory);
	else if (check(path, "its directory ", directory, fd, &status, err) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Where a link of a trusted owner leads, against its directory; NULL: `err`. */
static char *read_link(const char *path, const char *directory, int link, struct err *err)
{
	char target[TARGET_CAP] = "";
	struct stat status;

	if (fstat(link, &status) < 0 || readlinkat(link, "", target, sizeof(target) - 1) < 0) {
		err_set_errno(err, "%s", path);
		return NULL;
	}
	if (!is_own(status.st_uid)) {
		refuse_owner(path, "the link ", status.st_uid, err);
		return NULL;
	}
	return fs_join(directory, target);
}

static int open_own(const char *path, int links, struct err *err)
{
	char *directory cleanup_free = fs_dirname(path);
	const char *name = fs_basename(path);
	int above cleanup_close = open_directory(path, directory, err);
	struct stat status;

	if (above < 0)
		return -1;
	int fd = openat(above, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 && errno == ELOOP && links < LINKS_MAX) {
		int link cleanup_close = openat(above, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		char *target cleanup_free = read_link(path, directory, link, err);
		return target ? open_own(target, links + 1, err) : -1;
	}
	if (fd < 0)
		return err_set_errno(err, "%s", path);
	if (fstat(fd, &status) == 0 && check(path, "", path, fd, &status, err) == 0)
		return fd;
	close(fd);
	return -1;
}

int fs_open_own(const char *path, struct err *err)
{
	return open_own(path, 0, err);
}

char *fs_read_own(const char *path, const char *named, size_t cap, size_t *length, struct err *err)
{
	struct err cause cleanup_err = {0};
	int fd cleanup_close = open_own(path, 0, &cause);

	struct stat status;

	if (fd >= 0 && fstat(fd, &status) == 0 && !S_ISREG(status.st_mode)) {
		err_set(err, ERR_INPUT, "%s: is %s", path, fs_kind_name(status.st_mode));
		return NULL;
	}
	if (fd < 0) {
		bool is_refused = cause.kind == ERR_CONFIG;
		err_set(err, cause.kind, "%s%s%s", err_message(&cause),
			is_refused ? ". To read it anyway: " : "", is_refused ? named : "");
		return NULL;
	}
	return fs_read_descriptor(fd, path, cap, length, err);
}

bool fs_is_own(const char *path)
{
	int fd cleanup_close = open_own(path, 0, NULL);

	return fd >= 0;
}
