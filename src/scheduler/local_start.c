#include "scheduler/local_start.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"
#include "hadoop/credentials.h"
#include "hadoop/hdfs_token.h"
#include "hadoop/token_file.h"
#include "scheduler/agent.h"
#include "scheduler/launch.h"
#include "scheduler/local.h"
#include "scheduler/local_job.h"
#include "scheduler/local_parent.h"
#include "scheduler/local_spawn.h"

enum {
	START_LIMIT_MS = 60000,
	LOOK_AGAIN_MS = 1000,
	LOOK_SOON_MS = 20,
	END_GRACE_MS = 3000,
};

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

/* `status` of one that is another process's child is not known. */
static bool has_ended(pid_t pid, int process, int *status)
{
	struct pollfd end = {.fd = process, .events = POLLIN};
	pid_t ended = waitpid(pid, status, WNOHANG);

	if (ended == 0 || (ended < 0 && errno != ECHILD))
		return false;
	return ended == pid || process < 0 || poll(&end, 1, 0) > 0;
}

bool local_start_is_interrupted(void)
{
	sigset_t pending;

	sigpending(&pending);
	return sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1;
}

/* `ready` -1: it is another process's child, and tells nothing. */
static int wait_for_am(pid_t pid, int ready, const char *job_dir, struct err *err)
{
	int pause_ms = ready < 0 ? LOOK_SOON_MS : LOOK_AGAIN_MS;
	int process cleanup_close = pidfd_open(pid, 0);
	struct pollfd fds[] = {{.fd = ready, .events = POLLIN}, {.fd = process, .events = POLLIN}};
	int64_t deadline = clock_monotonic_ms() + START_LIMIT_MS;
	int status = 0;

	while (poll(fds, array_length(fds), pause_ms) < 0 || fds[0].revents == 0) {
		if (has_ended(pid, process, &status))
			return has_begun(job_dir) ? 0 : set_died(status, job_dir, err);
		if (ready < 0 && local_job_has_door(job_dir))
			return 0;
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

int local_start_am(const struct job *job, const char *job_dir, struct err *err)
{
	char *agent cleanup_free = agent_find(err);
	if (!agent || write_tokens(job_dir, err) < 0)
		return -1;
	int ready cleanup_close = job->parent ? -1 : eventfd(0, EFD_CLOEXEC);
	if (ready < 0 && !job->parent)
		return err_set_errno(err, "eventfd");
	pid_t pid = job->parent ? local_parent_start(job, job_dir, agent, err)
				: local_spawn_am(agent, job->id, job_dir,
						 &(struct local_signs){ready, -1}, NULL, NULL, err);
	if (pid < 0)
		return -1;
	int result = wait_for_am(pid, ready, job_dir, err);
	if (result < 0)
		end_am(job->id);
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
	pid_t pid = local_spawn_am(agent, job_id, job_dir, &(struct local_signs){-1, ends[1]}, NULL,
				   NULL, err);
	close(ends[1]);
	int error = pid > 0 ? read_exec_error(ends[0]) : 0;
	close(ends[0]);
	if (error == 0)
		return pid > 0 ? 0 : -1;
	waitpid(pid, NULL, 0);
	errno = error;
	return err_set_errno(err, "cannot start %s in %s", agent, job_dir);
}
