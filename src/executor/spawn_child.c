#include "executor/spawn_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/proc.h"
#include "executor/namespace.h"

_Noreturn static void fail(const struct spawn_child *child, enum spawn_stage stage)
{
	struct spawn_report report = {.stage = stage, .error = errno};

	if (write(child->report_fd, &report, sizeof(report)) < 0) {
		/* The parent is gone: nobody to tell. */
	}
	_exit(127);
}

/* Dies with the parent, also when that died before the kernel was asked for it (inside a new pid
 * namespace the parent always looks like 0). */
static void die_with_parent(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127);
}

/* Where there is no /dev (an empty root), a pipe that nobody writes to is as empty. */
static int open_empty(void)
{
	int ends[2], null = open("/dev/null", O_RDONLY);

	if (null >= 0 || pipe(ends) < 0)
		return null;
	close(ends[1]);
	return ends[0];
}

_Noreturn static void become_program(const struct spawn_child *child)
{
	char *const arguments[] = {(char *)child->shell, "-c", (char *)child->command, NULL};
	int input = child->stdin_fd >= 0 ? child->stdin_fd : open_empty();

	if (input < 0 || dup2(input, 0) < 0 || dup2(child->stdout_fd, 1) < 0 ||
	    dup2(child->stderr_fd, 2) < 0 || setsid() < 0)
		fail(child, SPAWN_STAGE_SETUP);
	/* What this process inherited or opened is none of the program's. */
	proc_close_from(3, true);
	if (chdir(child->work_dir) < 0)
		fail(child, SPAWN_STAGE_WORK_DIR);
	limits_restore();
	execve(child->shell, arguments, child->environment);
	fail(child, SPAWN_STAGE_EXEC);
}

_Noreturn static void become_init(const struct spawn_child *child)
{
	if (namespace_enter(child->own_users, child->uid, child->gid) < 0)
		fail(child, SPAWN_STAGE_NAMESPACE);
	pid_t program = fork();
	if (program < 0)
		fail(child, SPAWN_STAGE_SETUP);
	if (program == 0) {
		die_with_parent(1);
		become_program(child);
	}
	/* Pipes stay open here otherwise, and the lock that says this machine's share is in use. */
	if (dup2(child->status_fd, 3) < 0)
		_exit(1);
	proc_close_from(4, false);
	namespace_run_init(program, 3);
}

void spawn_child_run(const struct spawn_child *child)
{
	proc_reset_signals();
	die_with_parent(child->status_fd < 0 ? child->parent : 0);
	if (child->status_fd >= 0)
		become_init(child);
	become_program(child);
}
