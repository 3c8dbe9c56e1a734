/* Starting a job's AM as a process of its own, which outlives the client and its terminal. */
#ifndef TONY_SCHEDULER_LOCAL_START_H
#define TONY_SCHEDULER_LOCAL_START_H

#include <stdbool.h>

#include "job/job.h"

/* Starts `tony-agent am --job-dir job_dir` and waits until it has written am.json. Its log is
 * LOCAL_AM_LOG in that directory. On failure all children of this process have been ended. A
 * pending SIGINT or SIGTERM, which the caller has blocked, is a failure while the AM has not begun.
 */
int local_start_am(const struct job *job, const char *job_dir, struct err *err);

/* Starts the same for a job whose journal has its last line: it does what the last guardian would
 * have done, and nobody waits for it. -1 also where this process may start no program, as those of
 * a portal. */
int local_start_last_duty(const char *job_id, const char *job_dir, struct err *err);

/* Whether such a signal is pending. */
bool local_start_is_interrupted(void);

#endif
