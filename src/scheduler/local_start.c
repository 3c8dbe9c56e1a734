#include "scheduler/local_start.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/proc.h"
#include "hadoop/credentials.h"
#include "hadoop/hdfs_token.h"
#include "hadoop/token_file.h"
#include "scheduler/agent.h"
#include "scheduler/launch.h"
#include "scheduler/local.h"
#include "scheduler/local_job.h"

enum {
	START_LIMIT_MS = 60000,
	LOOK_AGAIN_MS = 1000,
	END_GRACE_MS = 3000,
	EXIT_NO_EXEC = 127,
	READY_FD = 3, /* the AM's, of an eventfd */
};

/* ---- the process -------------------------------------------------------------------------- */

/* Descriptors by which the process tells how far its start came. -1: none. */
struct signs {
	int ready;  /* an eventfd of the AM's */
	int failed; /* a pipe for the error of an exec that failed, which is not logged then */
};

static _Noreturn void fail_exec(const char *agent, const char *job_dir, int failed)
{
	int error = errno;

	if (failed < 0 || write(failed, &error, sizeof(error)) != sizeof(error))
		dprintf(STDERR_FILENO, "cannot start %s in %s: %s\n", agent, job_dir,
			strerror(error));
	_exit(EXIT_NO_EXEC);
}

static _Noreturn void become_am(const char *agent, const char *job_id, const char *job_dir,
				int output, const struct signs *signs)
{
	char *number cleanup_free = mem_printf("%d", READY_FD);
	char *const argv[] = {"tony-agent",
			      "am",
			      "--job-dir",
			      (char *)job_dir,
			      signs->ready < 0 ? NULL : "--ready-fd",
			      number,
			      NULL};
	int input = open("/dev/null", O_RDONLY | O_CLOEXEC);

	setsid();
	proc_reset_signals();
	limits_restore();
	dup2(input, STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	close_range(STDERR_FILENO + 1, UINT_MAX, CLOSE_RANGE_CLOEXEC);
	if (signs->ready >= 0 && dup2(signs->ready, READY_FD) == signs->ready)
		fcntl(READY_FD, F_SETFD, 0);
	setenv("TONY_JOB_ID", job_id, 1);
	char *tokens cleanup_free = fs_join(job_dir, LOCAL_TOKENS_FILE);
	if (fs_exists(tokens))
		setenv(TOKEN_FILE_VARIABLE, tokens, 1);
	if (chdir(job_dir) == 0)
		execv(agent, argv);
	fail_exec(agent, job_dir, signs->failed);
}

static pid_t start(const char *agent, const char *job_id, const char *job_dir,
		   const struct signs *signs, struct err *err)
{
	char *log cleanup_free = fs_join(job_dir, LOCAL_AM_LOG);
	int output cleanup_close = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	if (output < 0)
		return err_set_errno(err, "%s", log);
	pid_t pid = fork();
	if (pid == 0)
		become_am(agent, job_id, job_dir, output, signs);
	return pid < 0 ? err_set_fork(err, "fork") : pid;
}

/* ---- until it listens --------------------------------------------------------------------- */

static int set_died(int status, const char *job_dir, struct err *err)
{
	return launch_set_am_end(WEXITSTATUS(status), WIFSIGNALED(status) ? WTERMSIG(status) : 0,
				 job_dir, err);
}

static bool has_begun(const char *job_dir)
{
	struct job_view *view;
	struct job *job;

	if (local_job_read(job_dir, &job, &view, NULL) < 0)
		return false;
	bool begun = view->am_pid != 0;
	job_view_destroy(view);
	job_destroy(job);
	return begun;
}

static bool has_ended(pid_t pid, int *status)
{
	return waitpid(pid, status, WNOHANG) == pid;
}

bool local_start_is_interrupted(void)
{
	sigset_t pending;

	sigpending(&pending);
	return sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1;
}

static int wait_for_am(pid_t pid, int ready, const char *job_dir, struct err *err)
{
	int process cleanup_close = pidfd_open(pid, 0);
	struct pollfd fds[] = {{.fd = ready, .events = POLLIN}, {.fd = process, .events = POLLIN}};
	int64_t deadline = clock_monotonic_ms() + START_LIMIT_MS;
	int status;

	while (poll(fds, array_length(fds), LOOK_AGAIN_MS) < 0 || fds[0].revents == 0) {
		if (has_ended(pid, &status))
			return has_begun(job_dir) ? 0 : set_died(status, job_dir, err);
		/* An AM that has begun runs its job, whatever becomes of the client. */
		if (local_start_is_interrupted() && !has_begun(job_dir))
			return err_set(err, ERR_FAILED, "the submission was interrupted");
		if (clock_monotonic_ms() >= deadline)
			return err_set(err, ERR_UNREACHABLE,
				       "the application master (process %d) is not up after %d s",
				       (int)pid, START_LIMIT_MS / 1000);
	}
	return 0;
}

/* Until its exec is through, no mark in its environment tells whose process it is: so it is ended
 * as this process's child. */
static void end_am(const char *job_id)
{
	char *mark cleanup_free = mem_printf("TONY_JOB_ID=%s", job_id);

	proc_end_all(getpid(), mark, NULL, 0, SIGTERM, END_GRACE_MS);
}

/* Those that the job's stores want, beside what its programs would find otherwise. */
static int write_tokens(const char *job_dir, struct err *err)
{
	char *path cleanup_free = fs_join(job_dir, LOCAL_TOKENS_FILE);
	struct credentials own cleanup_credentials = {0}, all cleanup_credentials = {0};
	bool are_own;

	hdfs_tokens_add(&own, &are_own);
	if (own.token_count == 0)
		return 0;
	if (token_file_path() && credentials_read_file(token_file_path(), &all, err) < 0)
		return -1;
	for (size_t i = 0; i < own.token_count; i++)
		credentials_add_token(&all, own.tokens[i].alias, &own.tokens[i].token);
	if (credentials_write_file(&all, path, err) < 0)
		return -1;
	hdfs_tokens_leave();
	return 0;
}

int local_start_am(const char *job_id, const char *job_dir, struct err *err)
{
	char *agent cleanup_free = agent_find(err);
	if (!agent || write_tokens(job_dir, err) < 0)
		return -1;
	int ready cleanup_close = eventfd(0, EFD_CLOEXEC);
	if (ready < 0)
		return err_set_errno(err, "eventfd");
	pid_t pid = start(agent, job_id, job_dir, &(struct signs){ready, -1}, err);
	if (pid < 0)
		return -1;
	int result = wait_for_am(pid, ready, job_dir, err);
	if (result < 0)
		end_am(job_id);
	return result;
}

/* Until an exec, or the process's end, has closed the other end of the pipe. 0: there was none. */
static int read_exec_error(int failed)
{
	int error = 0;
	ssize_t got;

	do {
		got = read(failed, &error, sizeof(error));
	} while (got < 0 && errno == EINTR);
	return got == sizeof(error) ? error : 0;
}

int local_start_last_duty(const char *job_id, const char *job_dir, struct err *err)
{
	char *agent cleanup_free = agent_find(err);
	int ends[2];

	if (!agent)
		return -1;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_set_errno(err, "no pipe");
	pid_t pid = start(agent, job_id, job_dir, &(struct signs){-1, ends[1]}, err);
	close(ends[1]);
	int error = pid > 0 ? read_exec_error(ends[0]) : 0;
	close(ends[0]);
	if (error == 0)
		return pid > 0 ? 0 : -1;
	waitpid(pid, NULL, 0);
	errno = error;
	return err_set_errno(err, "cannot start %s in %s", agent, job_dir);
}
