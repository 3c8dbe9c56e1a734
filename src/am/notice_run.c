/* The command: a program of the user's, beside the AM. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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
#include "base/log.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/shell.h"

enum { GRACE_MS = 5000, EXIT_NO_EXEC = 127 };
#define OUTPUT_CAP ((int64_t)1 << 20) /* bytes of the command's output that are kept */

struct command {
	pid_t pid;
	int output;	    /* what it writes; not blocking */
	int64_t read_bytes; /* of it, so far */
};

static _Noreturn void become(const char *shell, const char *command, const char *directory,
			     const struct str_list *environment, int output)
{
	char *const argv[] = {"bash", "-c", (char *)command, NULL};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	proc_enter_session(output);
	limits_restore();
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

/* Passes on what the command has written by now, to where the AM's own words go. False: nothing
 * more is to be read (now). */
static bool pass_on(struct command *command)
{
	char piece[16384];
	ssize_t got = read(command->output, piece, sizeof(piece));

	if (got <= 0)
		return false;
	int64_t room = OUTPUT_CAP - command->read_bytes;
	command->read_bytes += got;
	if (room > 0)
		fs_write_all(STDERR_FILENO, piece, (size_t)(got < room ? got : room), NULL);
	return true;
}

/* Within timeout_ms (0: no limit), whatever signals come meanwhile. */
static bool has_ended(struct command *command, int64_t timeout_ms, int *status)
{
	int fd cleanup_close = (int)syscall(SYS_pidfd_open, command->pid, 0);
	struct pollfd events[] = {{.fd = fd, .events = POLLIN},
				  {.fd = command->output, .events = POLLIN}};
	int64_t start_ms = clock_monotonic_ms();

	while (fd >= 0) {
		int count = poll(events, array_length(events), time_left(start_ms, timeout_ms));
		if (count == 0 || (count < 0 && errno != EINTR))
			return false;
		if (count > 0 && events[0].revents)
			return waitpid(command->pid, status, 0) == command->pid;
		if (count > 0 && events[1].revents && !pass_on(command))
			events[1].fd = -1; /* it has closed its output */
		if (timeout_ms > 0 && time_left(start_ms, timeout_ms) == 0)
			return false;
	}
	return false;
}

/* Whether it came to an end by itself. */
static bool wait_for(struct command *command, int64_t timeout_ms, int *status)
{
	if (has_ended(command, timeout_ms, status))
		return true;
	kill(-command->pid, SIGTERM);
	if (!has_ended(command, GRACE_MS, status)) {
		kill(-command->pid, SIGKILL);
		kill(command->pid, SIGKILL);
		waitpid(command->pid, status, 0);
	}
	return false;
}

/* Its own processes may go on writing: what is there now is all. */
static void finish(struct command *command)
{
	int64_t most = command->read_bytes + OUTPUT_CAP;

	while (command->read_bytes < most && pass_on(command))
		continue;
	if (command->read_bytes > OUTPUT_CAP)
		log_warning("tony.application.on-end: %" PRId64
			    " bytes of the command's output, or more, are left out",
			    command->read_bytes - OUTPUT_CAP);
	close(command->output);
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
	int status = 0, ends[2];

	*failed = true;
	notice_environment(facts, &environment);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return mem_printf("the command cannot be started: %s", strerror(errno));
	struct command command = {.pid = fork(), .output = ends[0]};
	if (command.pid == 0)
		become(shell, job->on_end_command, place, &environment, ends[1]);
	close(ends[1]);
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	if (command.pid < 0) {
		close(ends[0]);
		return mem_printf("the command cannot be started: %s", strerror(errno));
	}
	bool in_time = wait_for(&command, job->on_end_timeout_ms, &status);
	finish(&command);
	*failed = !in_time || status != 0;
	return describe(job, in_time, status);
}
