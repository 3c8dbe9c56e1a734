/* Where the processes of a task that hangs stand, for people. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/json.h"
#include "base/proc.h"
#include "executor/hang.h"
#include "executor/stacks.h"

static _Noreturn void save(const char *path, pid_t executor)
{
	proc_reset_signals();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "tony-stacks");
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out || getppid() != executor)
		_exit(1);
	json_t *processes cleanup_json = stacks_take(executor);
	stacks_write(processes, out);
	_exit(fclose(out) == 0 ? 0 : 1);
}

int hang_save_stacks(const char *path)
{
	pid_t executor = getpid();
	sigset_t all, before;

	/* Blocked, so that no handler of this process ever runs in the child. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	pid_t pid = fork();
	if (pid == 0)
		save(path, executor);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return pid;
}
