#include "scheduler/local_spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/proc.h"
#include "hadoop/token_file.h"
#include "scheduler/local.h"

enum {
	EXIT_NO_EXEC = 127,
	READY_FD = 3, /* the AM's, of an eventfd */
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
				int output, const struct local_signs *signs)
{
	char *number cleanup_free = mem_printf("%d", READY_FD);
	char *const argv[] = {"tony-agent",
			      "am",
			      "--job-dir",
			      (char *)job_dir,
			      signs->ready < 0 ? NULL : "--ready-fd",
			      number,
			      NULL};

	proc_enter_session(output);
	limits_restore();
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

pid_t local_spawn_am(const char *agent, const char *job_id, const char *job_dir,
		     const struct local_signs *signs, void (*prepare)(void *data), void *data,
		     struct err *err)
{
	char *log cleanup_free = fs_join(job_dir, LOCAL_AM_LOG);
	int output cleanup_close = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	if (output < 0)
		return err_set_errno(err, "%s", log);
	pid_t pid = fork();
	if (pid == 0 && prepare)
		prepare(data);
	if (pid == 0)
		become_am(agent, job_id, job_dir, output, signs);
	return pid < 0 ? err_set_fork(err, "fork") : pid;
}
