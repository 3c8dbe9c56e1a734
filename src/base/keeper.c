#include "base/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/user.h"

enum { ENDING_LENGTH = sizeof("XXXXXX") - 1 };

/* In a directory that others may write to something else may be at the path by now, be it another
 * one of this user. */
static bool is_made(const struct stat *info, const struct stat *made)
{
	return info->st_dev == made->st_dev && info->st_ino == made->st_ino;
}

/* `name` in the open directory `above`. */
static int remove_made(int above, const char *name, const struct stat *made)
{
	struct stat info;

	if (fstatat(above, name, &info, AT_SYMLINK_NOFOLLOW) < 0 || !is_made(&info, made))
		return -1;
	if (!S_ISDIR(made->st_mode))
		return unlinkat(above, name, 0);
	int fd cleanup_close = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &info) < 0 || !is_made(&info, made))
		return -1;
	return fs_empty_tree(above, fd, name, NULL) < 0 ? -1 : unlinkat(above, name, AT_REMOVEDIR);
}

static int open_above(const char *path)
{
	char *directory cleanup_free = fs_dirname(path);

	return open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static void await(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* The keeper tells its parent what it has made. */
struct report {
	int error;
	char ending[ENDING_LENGTH]; /* in place of XXXXXX */
	struct stat made;
};

/* Others may exchange the directory meanwhile: what was made is found by the open one. */
static int make(int above, char *name, bool is_directory, struct report *report)
{
	char *path cleanup_free = mem_printf("/proc/self/fd/%d/%s", above, name);

	if (above < 0)
		return -1;
	int fd cleanup_close = is_directory ? -1 : mkostemp(path, O_CLOEXEC);
	if (is_directory ? !mkdtemp(path) : fd < 0)
		return -1;
	memcpy(name, fs_basename(path), strlen(name));
	memcpy(report->ending, name + strlen(name) - ENDING_LENGTH, ENDING_LENGTH);
	return fstatat(above, name, &report->made, AT_SYMLINK_NOFOLLOW);
}

static void close_standard(int held, int above)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fd != held && fd != above)
			close(fd);
}

/* The keeper creates the file itself, so that even kill -9 of the parent leaves nothing behind. It
 * keeps none of the parent's descriptors open but these, or a reader of the parent's output would
 * wait for it. In a session of its own no signal to the parent's group reaches it. */
static _Noreturn void keep(const char *path, bool is_directory, int told, int held)
{
	struct report report = {0};
	int above = open_above(path); /* below a descriptor of the parent's, maybe */
	char *name = mem_strdup(fs_basename(path)), byte;

	setsid();
	prctl(PR_SET_NAME, "tony-keeper");
	if (make(above, name, is_directory, &report) < 0)
		report.error = errno;
	ssize_t length = write(told, &report, sizeof(report));
	proc_close_others(held, above);
	close_standard(held, above);
	while (length > 0 && report.error == 0 && read(held, &byte, 1) > 0)
		;
	_exit(report.error || remove_made(above, name, &report.made) < 0);
}

static int read_report(int fd, struct report *report)
{
	ssize_t length;

	do
		length = read(fd, report, sizeof(*report));
	while (length < 0 && errno == EINTR);
	return length == sizeof(*report) ? 0 : -1;
}

/* `path` ends in XXXXXX. */
static int start(struct keeper *keeper, char *path, bool is_directory, struct err *err)
{
	struct report report;
	int hold[2], tell[2];

	if (pipe2(hold, O_CLOEXEC) < 0)
		return err_set_errno(err, "cannot make a pipe");
	int held cleanup_close = hold[0], holds cleanup_close = hold[1];
	if (pipe2(tell, O_CLOEXEC) < 0)
		return err_set_errno(err, "cannot make a pipe");
	int asked cleanup_close = tell[0], told cleanup_close = tell[1];
	pid_t pid = fork();
	if (pid == 0) {
		/* At the limit on descriptors there is room for the keeper's own then. */
		mem_cleanup_close(&asked);
		mem_cleanup_close(&holds);
		keep(path, is_directory, told, held);
	}
	if (pid < 0) {
		err_set_fork(err, "cannot start the process that removes it");
		return err_wrap(err, "%s", path);
	}
	mem_cleanup_close(&told);
	bool is_told = read_report(asked, &report) == 0;
	if (is_told && report.error == 0) {
		memcpy(path + strlen(path) - ENDING_LENGTH, report.ending, ENDING_LENGTH);
		*keeper = (struct keeper){mem_strdup(path), report.made, pid, mem_steal_fd(&holds)};
		return 0;
	}
	mem_cleanup_close(&holds);
	await(pid);
	errno = is_told ? report.error : ECHILD;
	return err_set_errno(err, "%s", path);
}

/* All signals are blocked meanwhile, so that Ctrl-C ends neither process half-way. */
static int start_held(struct keeper *keeper, char *path, bool is_directory, struct err *err)
{
	sigset_t all, before;

	*keeper = (struct keeper){0};
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	int result = start(keeper, path, is_directory, err);
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
	return start_held(keeper, path, true, err);
}

int keeper_make_beside(struct keeper *keeper, const char *path, struct err *err)
{
	char *made cleanup_free = mem_printf("%s.part.XXXXXX", path);

	return start_held(keeper, made, true, err);
}

static int open_made(const struct keeper *keeper, int flags, struct err *err)
{
	int fd cleanup_close = open(keeper->path, flags | O_NOFOLLOW | O_CLOEXEC);
	struct stat info;

	if (fd < 0 || fstat(fd, &info) < 0)
		return err_set_errno(err, "%s", keeper->path);
	if (!is_made(&info, &keeper->made))
		return err_set(err, ERR_DENIED, "%s: another one has taken its place",
			       keeper->path);
	return mem_steal_fd(&fd);
}

int keeper_open(const struct keeper *keeper, struct err *err)
{
	return open_made(keeper, O_RDONLY | O_DIRECTORY, err);
}

int keeper_make_file(struct keeper *keeper, const char *path, struct err *err)
{
	char *made cleanup_free = mem_printf("%s.XXXXXX", path);

	if (start_held(keeper, made, false, err) < 0)
		return err_rename(err, made, path);
	int fd = open_made(keeper, O_RDWR, err);
	if (fd < 0)
		keeper_remove(keeper);
	return fd;
}

void keeper_remove(struct keeper *keeper)
{
	if (!keeper->path)
		return;
	close(keeper->hold);
	await(keeper->pid);
	int above cleanup_close = open_above(keeper->path);
	remove_made(above, fs_basename(keeper->path), &keeper->made); /* was the keeper killed? */
	free(keeper->path);
	*keeper = (struct keeper){0};
}
