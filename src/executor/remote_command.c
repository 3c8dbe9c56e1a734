#include "executor/remote_command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/proc.h"

enum { GRACE_MS = 3000 };

_Noreturn static void become_shell(const char *command)
{
	char *const arguments[] = {"sh", "-c", (char *)command, NULL};
	int empty = open("/dev/null", O_RDONLY);

	proc_reset_signals();
	if (empty >= 0)
		dup2(empty, STDIN_FILENO);
	proc_close_from(3, true);
	limits_restore();
	execv("/bin/sh", arguments);
	_exit(errno == ENOENT ? 127 : 126);
}

/* As `status` says: whoever waits for this process sees the same. Open MPI's own exit codes are
 * above those by which shells tell a signal. */
_Noreturn static void end_as(int status)
{
	int signal = proc_shell_signal(status);

	if (signal == 0)
		_exit(WEXITSTATUS(status));
	proc_reset_signals();
	kill(getpid(), signal);
	_exit(PROC_SHELL_SIGNAL + signal);
}

/* False: no child is left. What a killed command has started does not outlive it. */
static bool reap(pid_t shell, int *status)
{
	pid_t pid;
	int one;

	while ((pid = waitpid(-1, &one, WNOHANG)) > 0) {
		if (pid != shell)
			continue;
		*status = one;
		if (proc_shell_signal(one) != 0)
			proc_end_all(getpid(), NULL, NULL, 0, SIGKILL, 0);
	}
	return pid == 0;
}

_Noreturn static void watch(const char *command)
{
	sigset_t wanted;
	int status = 0, signal;

	prctl(PR_SET_NAME, "tony-command");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	proc_reset_signals();
	/* Above all the connections: they would stay open here when the host is killed. */
	proc_close_from(3, false);
	sigemptyset(&wanted);
	sigaddset(&wanted, SIGTERM);
	sigaddset(&wanted, SIGCHLD);
	sigprocmask(SIG_BLOCK, &wanted, NULL);
	pid_t shell = fork();
	if (shell < 0)
		_exit(126);
	if (shell == 0)
		become_shell(command);
	while (reap(shell, &status)) {
		if (sigwait(&wanted, &signal) != 0 || signal != SIGTERM)
			continue;
		/* It may have been killed before, and SIGTERM be what came of that. */
		if (!reap(shell, &status) || proc_shell_signal(status) != 0)
			continue;
		proc_end_all(getpid(), NULL, NULL, 0, SIGTERM, GRACE_MS);
		_exit(PROC_SHELL_SIGNAL + SIGTERM);
	}
	end_as(status);
}

pid_t remote_command_start(const char *command)
{
	sigset_t all, before;

	/* So that no handler of the host runs in the child. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	pid_t pid = fork();
	int error = errno;
	if (pid == 0)
		watch(command);
	sigprocmask(SIG_SETMASK, &before, NULL);
	errno = error;
	return pid;
}
