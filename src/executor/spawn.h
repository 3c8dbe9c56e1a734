/*
 * Starting one process of the user's program: a session of its own, nothing inherited but
 * descriptors 0-2, killed by the kernel when this process dies.
 */
#ifndef TONY_EXECUTOR_SPAWN_H
#define TONY_EXECUTOR_SPAWN_H

#include <sys/types.h>

#include "base/err.h"
#include "job/job.h"

struct spawn_options {
	const char *command; /* for `bash -c`; `sh -c` where there is no bash */
	const char *work_dir;
	const char *stdin_file;	  /* read from its start as standard input; NULL: nothing is */
	char *const *environment; /* NULL-terminated; its PATH is where bash is looked for */
	enum job_isolation isolation;
};

/* All descriptors are the caller's. */
struct spawn {
	pid_t pid;
	int stdout_fd, stderr_fd; /* to be read */
	/* With a pid namespace `pid` is its first process, and the program's wait status (an int)
	 * is read here; nothing there means that the whole namespace was killed. Else -1. */
	int status_fd;
};

/* Returns when the shell runs, or could not be started. */
int spawn_start(const struct spawn_options *options, struct spawn *spawn, struct err *err);

/* TonY does so, and users rely on it: makes the command's first word executable when it is a
 * regular file inside of the work directory that is not. The directory is the task's own. */
void spawn_make_executable(const char *command, const char *work_dir);

#endif
