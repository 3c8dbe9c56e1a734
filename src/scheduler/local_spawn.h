/* The process that becomes the AM of a local job. */
#ifndef TONY_SCHEDULER_LOCAL_SPAWN_H
#define TONY_SCHEDULER_LOCAL_SPAWN_H

#include <sys/types.h>

#include "base/err.h"

/* Beside the job's description for as long as its AM is started: the environment of who submits it,
 * as in /proc/PID/environ. Only where another process starts the AM (local_parent.h). */
#define LOCAL_ENVIRONMENT_FILE "environment"
#define LOCAL_AM_LOG	       "am.log"

/* Descriptors by which the process tells how far its start came. -1: none. */
struct local_signs {
	int ready;  /* an eventfd of the AM's */
	int failed; /* a pipe for the error of an exec that failed, which is not logged then */
};

/* Forks a process that runs `agent` as the AM of the job; what it prints is in the job's am.log.
 * `prepare` (NULL: nothing) is called in it before. For a process of one thread. The process, or
 * -1. */
pid_t local_spawn_am(const char *agent, const char *job_id, const char *job_dir,
		     const struct local_signs *signs, void (*prepare)(void *data), void *data,
		     struct err *err);

#endif
