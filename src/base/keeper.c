#include "base/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/user.h"

/* In a directory that others may write to something else may be at the path by now, be it another
 * one of this user. */
static bool is_made(const struct stat *info, const struct stat *made)
{
	return info->st_dev == made->st_dev && info->st_ino == made->st_ino;
}

static int remove_made(const char *path, const struct stat *made)
{
	struct stat info;

	if (lstat(path, &info) < 0 || !is_made(&info, made))
		return -1;
	if (!S_ISDIR(made->st_mode))
		return unlink(path);
	char *parent cleanup_free = fs_dirname(path);
	int above cleanup_close = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd cleanup_close = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (above < 0 || fd < 0 || fstat(fd, &info) < 0 || !is_made(&info, made))
		return -1;
	return fs_empty_tree(above, fd, path, NULL) < 0 ? -1 : rmdir(path);
}

/* Nothing of the parent's stays open: who reads what it wrote must not wait for this process. A
 * signal to the parent's process group must not end both. */
static _Noreturn void keep(const char *path, const struct stat *made, int held)
{
	sigset_t all;
	char byte;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setsid();
	prctl(PR_SET_NAME, "tony-keeper");
	dup2(held, STDIN_FILENO);
	close_range(STDIN_FILENO + 1, ~0U, 0);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	_exit(remove_made(path, made) < 0);
}

static int start(struct keeper *keeper, const char *path, struct err *err)
{
	struct stat made;
	int ends[2];

	if (lstat(path, &made) < 0)
		return err_set_errno(err, "%s", path);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_set_errno(err, "cannot make a pipe");
	int held cleanup_close = ends[0];
	pid_t pid = fork();
	if (pid == 0)
		keep(path, &made, held);
	if (pid < 0) {
		close(ends[1]);
		err_set_fork(err, "cannot start the process that removes it");
		return err_wrap(err, "%s", path);
	}
	*keeper = (struct keeper){mem_strdup(path), made, pid, ends[1]};
	return 0;
}

/* Between what is made and its keeper, Ctrl-C waits. */
static void hold_signals(sigset_t *before)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, before);
}

/* `path` ends in XXXXXX, as mkdtemp() has it. */
static int make_directory(struct keeper *keeper, char *path, struct err *err)
{
	sigset_t before;

	*keeper = (struct keeper){0};
	hold_signals(&before);
	bool is_made = mkdtemp(path);
	int result = is_made ? start(keeper, path, err) : err_set_errno(err, "%s", path);
	if (is_made && result < 0)
		rmdir(path);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return result;
}

/* Programs read what is there by its path, and may run it. The owner of a directory can replace
 * what is in it, sticky or not; in a container without root's uid /tmp itself belongs to "nobody".
 */
static int check_parent(const char *parent, struct err *err)
{
	struct stat info;

	if (stat(parent, &info) < 0)
		return err_set_errno(err, "%s", parent);
	bool is_users = user_is_trusted(info.st_uid) || !user_is_told_apart(info.st_uid);
	if (is_users && !user_replace_remedy(parent, &info))
		return 0;
	char *quoted cleanup_free = str_shell_quote(parent);
	bool has_remedy = is_users && (info.st_uid == geteuid() || geteuid() == 0);
	return err_set(err, ERR_CONFIG,
		       "%s: others can replace what is made there; let TMPDIR name another "
		       "directory%s%s",
		       parent, has_remedy ? ", or type: chmod +t " : "", has_remedy ? quoted : "");
}

int keeper_make_directory(struct keeper *keeper, const char *name, struct err *err)
{
	const char *set = getenv("TMPDIR");
	const char *parent = set && *set ? set : "/tmp";
	char *path cleanup_free = mem_printf("%s/%s-XXXXXX", parent, name);

	*keeper = (struct keeper){0};
	if (check_parent(parent, err) < 0)
		return -1;
	return make_directory(keeper, path, err);
}

int keeper_make_beside(struct keeper *keeper, const char *path, struct err *err)
{
	char *made cleanup_free = mem_printf("%s.part.XXXXXX", path);

	return make_directory(keeper, made, err);
}

int keeper_open(const struct keeper *keeper, struct err *err)
{
	int fd cleanup_close = open(keeper->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat info;

	if (fd < 0 || fstat(fd, &info) < 0)
		return err_set_errno(err, "%s", keeper->path);
	if (!is_made(&info, &keeper->made))
		return err_set(err, ERR_DENIED, "%s: another directory has taken its place",
			       keeper->path);
	return mem_steal_fd(&fd);
}

int keeper_make_file(struct keeper *keeper, const char *path, struct err *err)
{
	char *made cleanup_free = mem_printf("%s.XXXXXX", path);
	sigset_t before;

	*keeper = (struct keeper){0};
	hold_signals(&before);
	int fd cleanup_close = mkostemp(made, O_CLOEXEC);
	int result = fd < 0 ? err_set_errno(err, "%s", path) : start(keeper, made, err);
	if (fd >= 0 && result < 0)
		unlink(made);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return result < 0 ? -1 : mem_steal_fd(&fd);
}

void keeper_remove(struct keeper *keeper)
{
	if (!keeper->path)
		return;
	close(keeper->hold);
	while (waitpid(keeper->pid, NULL, 0) < 0 && errno == EINTR)
		;
	remove_made(keeper->path, &keeper->made); /* should the keeper have been killed */
	free(keeper->path);
	*keeper = (struct keeper){0};
}
