#include "executor/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/shell.h"
#include "executor/namespace.h"
#include "executor/spawn_child.h"

static const char *find_path(char *const *environment)
{
	for (size_t i = 0; environment[i]; i++) {
		if (strncmp(environment[i], "PATH=", 5) == 0)
			return environment[i] + 5;
	}
	return "";
}

enum { READ_END, WRITE_END };

/* What connects the two: closed as a whole on failure. */
struct pipes {
	int out[2], error[2], report[2], status[2];
};

static void close_pipes(struct pipes *pipes)
{
	int *const all[] = {pipes->out, pipes->error, pipes->report, pipes->status};

	for (size_t i = 0; i < array_length(all); i++) {
		mem_cleanup_close(&all[i][READ_END]);
		mem_cleanup_close(&all[i][WRITE_END]);
	}
}

static int open_pipes(struct pipes *pipes, bool with_status, struct err *err)
{
	*pipes = (struct pipes){{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
	if (pipe2(pipes->out, O_CLOEXEC) < 0 || pipe2(pipes->error, O_CLOEXEC) < 0 ||
	    pipe2(pipes->report, O_CLOEXEC) < 0 ||
	    (with_status && pipe2(pipes->status, O_CLOEXEC) < 0)) {
		err_set_errno(err, "cannot make a pipe");
		close_pipes(pipes);
		return -1;
	}
	return 0;
}

/* Until the shell runs (the pipe closes by exec), or the child said what went wrong. */
static int read_report(int fd, const char *shell, const char *work_dir, struct err *err)
{
	struct spawn_report report;
	ssize_t got;

	do {
		got = read(fd, &report, sizeof(report));
	} while (got < 0 && errno == EINTR);
	if (got == 0)
		return 0;
	if (got != sizeof(report))
		return err_set(err, ERR_FAILED, "the process was killed before it began");
	errno = report.error;
	switch (report.stage) {
	case SPAWN_STAGE_WORK_DIR:
		return err_set_errno(err, "cannot enter the working directory %s", work_dir);
	case SPAWN_STAGE_EXEC:
		if (report.error == E2BIG)
			return err_set(err, ERR_FAILED,
				       "cannot start %s: command and environment are too large",
				       shell);
		return err_set_errno(err, "cannot start %s", shell);
	case SPAWN_STAGE_NAMESPACE:
		return err_set_errno(err, "isolation=pid-namespace: cannot set up the namespace "
					  "(mount /proc anew); use isolation=none on this machine");
	case SPAWN_STAGE_SETUP:
		break;
	}
	return err_set_fork(err, "cannot set up the process");
}

/* vfork(): the child borrows this process's memory until its exec, and this process sleeps
 * meanwhile, as it would in read_report(). */
static pid_t start_child(const struct spawn_options *options, struct spawn_child *child,
			 struct err *err)
{
	sigset_t all, before;

	/* Blocked, so that no handler of this process ever runs in the child: it would write into
	 * the event loop's own pipe, which both share until exec. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	/* NOLINTBEGIN(clang-analyzer-security.insecureAPI.vfork,clang-analyzer-unix.Vfork) */
	pid_t pid = options->isolation == JOB_ISOLATION_PID_NAMESPACE
			    ? namespace_fork(&child->own_users)
			    : vfork();
	int error = errno;
	if (pid == 0)
		spawn_child_run(child);
	limits_take_back();
	/* NOLINTEND(clang-analyzer-security.insecureAPI.vfork,clang-analyzer-unix.Vfork) */
	sigprocmask(SIG_SETMASK, &before, NULL);
	errno = error;
	if (pid < 0 && options->isolation == JOB_ISOLATION_PID_NAMESPACE && error != EAGAIN)
		err_set_errno(err, "isolation=pid-namespace: the kernel does not allow a new "
				   "namespace (see user.max_user_namespaces and "
				   "kernel.unprivileged_userns_clone); use isolation=none");
	else if (pid < 0)
		err_set_fork(err, "cannot start a process");
	return pid;
}

int spawn_start(const struct spawn_options *options, struct spawn *spawn, struct err *err)
{
	char *shell cleanup_free = shell_find(find_path(options->environment));
	int input cleanup_close =
		options->stdin_file ? open(options->stdin_file, O_RDONLY | O_CLOEXEC) : -1;
	struct pipes pipes;

	if (options->stdin_file && input < 0)
		return err_set_errno(err, "cannot open its standard input, %s",
				     options->stdin_file);
	if (open_pipes(&pipes, options->isolation == JOB_ISOLATION_PID_NAMESPACE, err) < 0)
		return -1;
	struct spawn_child child = {
		.shell = shell,
		.command = options->command,
		.work_dir = options->work_dir,
		.environment = options->environment,
		.parent = getpid(),
		.stdin_fd = input,
		.stdout_fd = pipes.out[WRITE_END],
		.stderr_fd = pipes.error[WRITE_END],
		.report_fd = pipes.report[WRITE_END],
		.status_fd = pipes.status[WRITE_END],
		.uid = geteuid(),
		.gid = getegid(),
	};
	pid_t pid = start_child(options, &child, err);
	close(mem_steal_fd(&pipes.report[WRITE_END]));
	if (pid < 0 || read_report(pipes.report[READ_END], shell, options->work_dir, err) < 0) {
		close_pipes(&pipes);
		return -1; /* a child that failed is reaped like every other */
	}
	*spawn = (struct spawn){
		.pid = pid,
		.stdout_fd = mem_steal_fd(&pipes.out[READ_END]),
		.stderr_fd = mem_steal_fd(&pipes.error[READ_END]),
		.status_fd = mem_steal_fd(&pipes.status[READ_END]),
	};
	close_pipes(&pipes);
	return 0;
}

void spawn_make_executable(const char *command, const char *work_dir)
{
	command += strspn(command, " \t\n");
	char *word cleanup_free = mem_strndup(command, strcspn(command, " \t\n;&|<>()"));
	char *path cleanup_free = fs_join(work_dir, word);
	char *real cleanup_free = realpath(path, NULL);
	char *inside cleanup_free = realpath(work_dir, NULL);
	struct stat info;

	/* A link out of the work directory leads to a file that others own, or share. */
	if (!*word || !real || !inside || !str_starts_with(real, inside) ||
	    real[strlen(inside)] != '/')
		return;
	if (stat(real, &info) == 0 && S_ISREG(info.st_mode) && access(real, X_OK) < 0)
		chmod(real, (info.st_mode & 07777) | ((info.st_mode & 0444) >> 2));
}
