/* The command: a program of the user's, beside the AM. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "am/notice.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/shell.h"
#include "scheduler/launch.h"

enum { GRACE_MS = 5000, EXIT_NO_EXEC = 127 };

/* Its output goes where the AM's own words go. */
static _Noreturn void become(const char *shell, const char *command, const char *directory,
			     const struct str_list *environment)
{
	char *const argv[] = {"bash", "-c", (char *)command, NULL};
	int input = open("/dev/null", O_RDONLY | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setsid();
	proc_reset_signals();
	launch_restore_open_files();
	limits_restore();
	dup2(input, STDIN_FILENO);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	close_range(STDERR_FILENO + 1, UINT_MAX, CLOSE_RANGE_CLOEXEC);
	for (size_t i = 0; i < environment->count; i++)
		putenv(environment->items[i]);
	if (chdir(directory) == 0)
		execv(shell, argv);
	dprintf(STDERR_FILENO, "cannot start %s in %s: %s\n", shell, directory, strerror(errno));
	_exit(EXIT_NO_EXEC);
}

/* Of timeout_ms (0: no limit), for poll(). */
static int time_left(int64_t start_ms, int64_t timeout_ms)
{
	int64_t left = start_ms + timeout_ms - clock_monotonic_ms();

	if (timeout_ms == 0)
		return -1;
	return left < 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left;
}

/* Within timeout_ms (0: no limit), whatever signals come meanwhile. */
static bool has_ended(pid_t pid, int64_t timeout_ms, int *status)
{
	int fd cleanup_close = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd end = {.fd = fd, .events = POLLIN};
	int64_t start_ms = clock_monotonic_ms();
	int count;

	if (fd < 0)
		return false;
	do
		count = poll(&end, 1, time_left(start_ms, timeout_ms));
	while (count < 0 && errno == EINTR);
	return count > 0 && waitpid(pid, status, 0) == pid;
}

/* Whether it came to an end by itself. */
static bool wait_for(pid_t pid, int64_t timeout_ms, int *status)
{
	if (has_ended(pid, timeout_ms, status))
		return true;
	kill(-pid, SIGTERM);
	if (!has_ended(pid, GRACE_MS, status)) {
		kill(-pid, SIGKILL);
		kill(pid, SIGKILL);
		waitpid(pid, status, 0);
	}
	return false;
}

/* The caller frees. */
static char *describe(const struct job *job, bool in_time, int status)
{
	char *limit cleanup_free = str_format_duration(job->on_end_timeout_ms);

	if (!in_time)
		return mem_printf("the command was ended: it ran for more than %s "
				  "(tony.application.on-end-timeout)",
				  limit);
	if (WIFSIGNALED(status))
		return mem_printf("the command was killed by %s",
				  proc_signal_name(WTERMSIG(status)));
	return mem_printf("the command exited with code %d", WEXITSTATUS(status));
}

char *notice_run(const struct job *job, const json_t *facts, const char *directory, bool *failed)
{
	struct str_list environment cleanup_str_list = {0};
	const char *path = getenv("PATH");
	char *shell cleanup_free = shell_find(path ? path : "");
	const char *place =
		job->work_dir && fs_is_directory(job->work_dir) ? job->work_dir : directory;
	int status = 0;

	*failed = true;
	notice_environment(facts, &environment);
	pid_t pid = fork();
	if (pid < 0)
		return mem_printf("the command cannot be started: %s", strerror(errno));
	if (pid == 0)
		become(shell, job->on_end_command, place, &environment);
	bool in_time = wait_for(pid, job->on_end_timeout_ms, &status);
	*failed = !in_time || status != 0;
	return describe(job, in_time, status);
}
