/* Starting an executor, and ending what may be left of a container, in child processes. */
#ifndef TONY_SCHEDULER_LAUNCH_H
#define TONY_SCHEDULER_LAUNCH_H

#include <errno.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"

struct launch {
	const char *job_id;
	const char *job_dir;
	const char *dir;  /* of the container: made by launch_start(), with work/ in it */
	const char *mark; /* value of TONY_CONTAINER: on every process of the container */
	const char *task_name;
	int attempt;
	const char *am_address;
	const char *host;   /* where other tasks reach this one */
	const char *cgroup; /* to run in; NULL: the executor watches the memory itself */
	const struct str_list *gpus;
	bool hide_gpus; /* there are GPUs here, and none is this task's */
	int am_attempt;
	/* Descriptors to be inherited: the job's hold on the ledger and on that of all users (-1:
	 * none), and a pipe that ends when the AM's last process has. */
	int ledger, shared_ledger, lifeline;
};

/* How an executor or an AM leaves that met a full disk or quota before it could begin: its log may
 * be on that disk, too. The codes are those of errno. */
enum { LAUNCH_NO_SPACE = ENOSPC, LAUNCH_NO_QUOTA = EDQUOT };
int launch_exit_code(const struct err *err, int otherwise);
/* Sets `err` (ERR_NO_SPACE, ERR_QUOTA) to what such a code says of the disk of `path`. False: the
 * code says something else. */
bool launch_exit_is_full(int code, const char *path, struct err *err);

/* How the application master of the job in `job_dir` ended, where nobody had told it to: sets
 * `err`, which names the file system and the remedy where no room was the reason. -1. */
int launch_set_am_end(int exit_code, int signal, const char *job_dir, struct err *err);

/* Starts "tony-agent exec" (this program's own file) in a session of its own, with the environment
 * that all schedulers give it and, locally, TONY_LEDGER_FD, TONY_LIFELINE_FD, TONY_CGROUP or
 * TONY_MEMORY_WATCH=1, and CUDA_VISIBLE_DEVICES; its output goes to executor.log. A launch record
 * says which process it is (launch_record.h). The process, or -1. */
pid_t launch_start(const struct launch *launch, struct err *err);

/* Starts a process that kills everything that carries the container's mark, descends from
 * `executor` (0: it has ended) or is in `cgroup` (NULL: none), removes the group and ends. The
 * process, or -1. */
pid_t launch_sweep(const char *mark, pid_t executor, const char *cgroup, int ledger,
		   int shared_ledger, struct err *err);

#endif
