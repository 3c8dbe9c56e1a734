#include "scheduler/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"
#include "job/machine.h"
#include "scheduler/cgroup.h"
#include "scheduler/launch_record.h"

enum {
	EXIT_NO_EXEC = 127, /* as a shell says it */
};

/* ---- a disk that is full ------------------------------------------------------------------ */

int launch_exit_code(const struct err *err, int otherwise)
{
	if (err->kind == ERR_NO_SPACE)
		return LAUNCH_NO_SPACE;
	return err->kind == ERR_QUOTA ? LAUNCH_NO_QUOTA : otherwise;
}

bool launch_exit_is_full(int code, const char *path, struct err *err)
{
	if (code != LAUNCH_NO_SPACE && code != LAUNCH_NO_QUOTA)
		return false;
	errno = code;
	err_set_errno(err, "%s", path);
	return true;
}

int launch_set_am_end(int exit_code, int signal, const char *job_dir, struct err *err)
{
	char *end cleanup_free = cause_describe_am(exit_code, signal);

	if (!signal && launch_exit_is_full(exit_code, job_dir, err))
		return err_wrap(err, "the application master found no room");
	return err_set(err, ERR_FAILED, "%s", end);
}

/* ---- in the child ------------------------------------------------------------------------- */

static void set_path(const char *name, const char *directory, const char *file)
{
	char *path cleanup_free = fs_join(directory, file);

	setenv(name, path, 1);
}

static void set_number(const char *name, int value)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", value);
	setenv(name, text, 1);
}

static void set_gpus(const struct launch *launch)
{
	if (launch->gpus->count > 0) {
		char *names cleanup_free = str_list_join(launch->gpus, ",");
		setenv("CUDA_VISIBLE_DEVICES", names, 1);
		setenv("NVIDIA_VISIBLE_DEVICES", names, 1);
		/* Our indexes count in the order of the bus; CUDA's default is the fastest first.
		 */
		setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
	} else if (launch->hide_gpus) {
		setenv("CUDA_VISIBLE_DEVICES", "", 1);
		setenv("NVIDIA_VISIBLE_DEVICES", "void", 1);
	}
}

static void set_environment(const struct launch *launch)
{
	setenv("TONY_JOB_ID", launch->job_id, 1);
	set_path("TONY_JOB_FILE", launch->job_dir, "job.json");
	set_path("TONY_TOKEN_FILE", launch->job_dir, "token");
	setenv("TONY_AM_ADDRESS", launch->am_address, 1);
	setenv("TONY_TASK", launch->task_name, 1);
	set_number("TONY_TASK_ATTEMPT", launch->attempt);
	setenv("TONY_CONTAINER", launch->mark, 1);
	setenv("TONY_CONTAINER_DIR", launch->dir, 1);
	setenv("TONY_HOST", launch->host, 1);
	set_number("TONY_LEDGER_FD", launch->ledger);
	set_number("TONY_LIFELINE_FD", launch->lifeline);
	set_gpus(launch);
}

static void tell_limit(const struct launch *launch, bool is_limited)
{
	if (is_limited) {
		setenv("TONY_CGROUP", launch->cgroup, 1);
		unsetenv("TONY_MEMORY_WATCH");
	} else {
		unsetenv("TONY_CGROUP");
		setenv("TONY_MEMORY_WATCH", "1", 1);
	}
}

static void write_record(const struct launch *launch, bool is_limited)
{
	struct err err cleanup_err = {0};
	struct launch_record record = {.am_attempt = launch->am_attempt,
				       .cgroup = is_limited ? (char *)launch->cgroup : NULL,
				       .gpus = *launch->gpus};

	proc_identify(getpid(), &record.executor);
	if (launch_record_write(launch->dir, &record, &err) == 0)
		return;
	dprintf(STDERR_FILENO, "cannot start the executor: %s\n", err_message(&err));
	_exit(launch_exit_code(&err, EXIT_NO_EXEC));
}

/* `output` also gets the one message of an executor that could not be started. */
static _Noreturn void become_executor(const struct launch *launch, const char *work, int output,
				      bool is_limited)
{
	char *const argv[] = {"tony-agent", "exec", NULL};

	proc_enter_session(output);
	fcntl(launch->ledger, F_SETFD, 0);
	fcntl(launch->shared_ledger, F_SETFD, 0);
	fcntl(launch->lifeline, F_SETFD, 0);
	write_record(launch, is_limited);
	tell_limit(launch, is_limited);
	limits_restore();
	set_environment(launch);
	if (chdir(work) < 0)
		dprintf(STDERR_FILENO, "cannot enter %s: %s\n", work, strerror(errno));
	else
		execv("/proc/self/exe", argv);
	dprintf(STDERR_FILENO, "cannot start the executor: %s\n", strerror(errno));
	_exit(EXIT_NO_EXEC);
}

static _Noreturn void sweep(const char *mark, pid_t executor, const char *cgroup, int ledger,
			    int shared_ledger)
{
	char *variable = mem_printf("TONY_CONTAINER=%s", mark);

	proc_reset_signals();
	/* While something is left, the job's part of the machine must stay taken, and nothing else
	 * of the AM's be held open, above all not its port. */
	int shared = fcntl(shared_ledger, F_DUPFD, STDERR_FILENO + 2);
	dup2(ledger, STDERR_FILENO + 1);
	if (shared >= 0)
		dup2(shared, STDERR_FILENO + 2);
	proc_close_from(STDERR_FILENO + (shared >= 0 ? 3 : 2), false);
	if (cgroup)
		cgroup_kill(cgroup);
	int left = proc_end_all(executor, variable, NULL, 0, SIGKILL, 0);
	if (cgroup)
		cgroup_end(cgroup);
	_exit(left < 0);
}

/* ---- in the AM ---------------------------------------------------------------------------- */

pid_t launch_start(const struct launch *launch, struct err *err)
{
	char *work cleanup_free = fs_join(launch->dir, "work");
	char *log cleanup_free = fs_join(launch->dir, "executor.log");

	if (fs_make_directories(work, 0700, err) < 0)
		return -1;
	int output cleanup_close = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (output < 0)
		return err_set_errno(err, "%s", log);
	bool is_limited = false;
	pid_t pid = cgroup_fork(launch->cgroup, &is_limited);
	if (pid == 0)
		become_executor(launch, work, output, is_limited);
	return pid < 0 ? err_set_fork(err, "fork") : pid;
}

pid_t launch_sweep(const char *mark, pid_t executor, const char *cgroup, int ledger,
		   int shared_ledger, struct err *err)
{
	pid_t pid = fork();

	if (pid == 0)
		sweep(mark, executor, cgroup, ledger, shared_ledger);
	return pid < 0 ? err_set_fork(err, "fork") : pid;
}
