/* Which directory it is, and whether no other user can put another one in its place. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/user.h"
#include "scheduler/state_dir.h"

enum { LINKS_MAX = 40 }; /* as the kernel counts them */

static const char *environment(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

/* NULL: `err`. */
static char *choose(struct err *err)
{
	const char *directory = environment("TONY_STATE_DIR");
	if (directory && *directory == '/')
		return fs_absolute(directory, err);
	if (directory) {
		err_set(err, ERR_CONFIG,
			"TONY_STATE_DIR is \"%s\", no absolute path: jobs would be found from this "
			"directory alone; write $PWD or $HOME, without quotes, before it",
			directory);
		return NULL;
	}
	directory = environment("XDG_STATE_HOME");
	/* The XDG specification wants a relative path ignored. */
	if (directory && *directory == '/')
		return fs_join(directory, "tony");
	directory = environment("HOME");
	if (directory && *directory == '/')
		return fs_join(directory, ".local/state/tony");
	if (directory)
		err_set(err, ERR_CONFIG,
			"no place for jobs: HOME is \"%s\", no absolute path; set TONY_STATE_DIR "
			"to a directory",
			directory);
	else
		err_set(err, ERR_CONFIG,
			"no place for jobs: none of TONY_STATE_DIR, XDG_STATE_HOME and HOME is "
			"set; set TONY_STATE_DIR to a directory");
	return NULL;
}

/* A directory's owner, and a user who may write to it, can put other jobs in the place of ours. */
static int check(const char *state, struct err *err)
{
	struct stat status;

	if (stat(state, &status) < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : err_set_errno(err, "%s", state);
	if (!S_ISDIR(status.st_mode))
		return err_set(err, ERR_CONFIG,
			       "%s: is no directory; set TONY_STATE_DIR to a directory of your own",
			       state);
	if (!user_is_trusted(status.st_uid))
		return err_set(err, ERR_CONFIG,
			       "%s: the state directory belongs to uid %u, and tony runs as uid "
			       "%u; run it as that user, or set TONY_STATE_DIR to a directory of "
			       "your own",
			       state, (unsigned)status.st_uid, (unsigned)geteuid());
	char *quoted cleanup_free = str_shell_quote(state);
	if (fs_others_may_write(status.st_mode))
		return err_set(err, ERR_CONFIG,
			       "%s: the state directory has mode %04o, with which others can "
			       "replace your jobs; chmod go-w %s",
			       state, (unsigned)status.st_mode & 07777, quoted);
	return 0;
}

/* ---- the directories above it ------------------------------------------------------------- */

/* To the state directory, as the kernel walks: through links, too. */
struct way {
	const char *state;
	int links; /* followed so far */
};

/* In a container without root's uid "/" itself belongs to "nobody". */
static int check_owner(const struct way *way, const char *path, uid_t owner, struct err *err)
{
	if (user_is_trusted(owner) || !user_is_told_apart(owner))
		return 0;
	return err_set(err, ERR_CONFIG,
		       "%s: belongs to uid %u, who can put another directory in the place of the "
		       "state directory %s; set TONY_STATE_DIR to a directory of which all parents "
		       "are yours or root's",
		       path, (unsigned)owner, way->state);
}

/* In a sticky directory only an entry's owner can rename it. */
static int check_mode(const struct way *way, const char *path, const struct stat *status,
		      struct err *err)
{
	mode_t mode = status->st_mode;
	const char *remedy = user_replace_remedy(path, status);

	if (!remedy)
		return 0;
	char *quoted cleanup_free = str_shell_quote(path);
	return err_set(
		err, ERR_CONFIG,
		"%s: has mode %04o, with which others can put another directory in the "
		"place of the state directory %s; set TONY_STATE_DIR to a directory of which "
		"no parent is open to others, or type: chmod %s %s",
		path, (unsigned)mode & 07777, way->state, remedy, quoted);
}

static int check_way(struct way *way, const char *name, struct err *err);

static int follow(struct way *way, const char *path, struct err *err)
{
	char *parent cleanup_free = fs_dirname(path);
	char target[PATH_MAX] = "";

	if (++way->links > LINKS_MAX) {
		errno = ELOOP;
		return err_set_errno(err, "%s", path);
	}
	if (readlink(path, target, sizeof(target) - 1) < 0)
		return err_set_errno(err, "%s", path);
	char *there cleanup_free = target[0] == '/' ? mem_strdup(target) : fs_join(parent, target);
	return check_way(way, there, err);
}

/* With a "/" at its end, a link's path means the directory that it leads to. */
static char *without_last_slashes(const char *path)
{
	size_t length = strlen(path);

	while (length > 1 && path[length - 1] == '/')
		length--;
	return mem_strndup(path, length);
}

/* Of the path and all above it. state_dir_make() checks again those that are not there yet. */
static int check_way(struct way *way, const char *name, struct err *err)
{
	char *path cleanup_free = without_last_slashes(name),
		   *parent cleanup_free = fs_dirname(path);
	struct stat status;

	if (strcmp(path, "/") != 0 && check_way(way, parent, err) < 0)
		return -1;
	if (lstat(path, &status) < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : err_set_errno(err, "%s", path);
	if (check_owner(way, path, status.st_uid, err) < 0)
		return -1;
	return S_ISLNK(status.st_mode) ? follow(way, path, err)
				       : check_mode(way, path, &status, err);
}

char *state_dir_find(struct err *err)
{
	char *state cleanup_free = choose(err);
	struct way way = {.state = state};

	if (!state || check(state, err) < 0 || check_way(&way, state, err) < 0)
		return NULL;
	return mem_steal(&state);
}

static int make(const char *directory, struct err *err)
{
	if (fs_make_directories(directory, 0700, err) == 0)
		return 0;
	if (err && err->kind == ERR_INPUT)
		err->kind = ERR_CONFIG;
	return err_wrap(err, "no place for jobs: set TONY_STATE_DIR to a directory where you may "
			     "write");
}

int state_dir_make(const char *directory, struct err *err)
{
	if (make(directory, err) < 0)
		return -1;
	/* Others may have made one of them since the state directory was found. */
	char *state cleanup_free = state_dir_find(err);
	return state ? 0 : -1;
}
