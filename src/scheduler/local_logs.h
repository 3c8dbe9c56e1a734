/* Logs that are files of this machine, in a job's directory. For struct scheduler_client_ops. */
#ifndef TONY_SCHEDULER_LOCAL_LOGS_H
#define TONY_SCHEDULER_LOCAL_LOGS_H

#include "logs/job_logs.h"
#include "scheduler/scheduler.h"

struct job_logs *local_logs(const struct job_door *door, const struct job *job, struct err *err);

/* Those of an ended job for whom its owner lets look at it: while its folder is there, which is
 * read for jobs of this process's user alone. */
struct job_logs *local_logs_shown(const struct job *job, const char *id, const char *owner,
				  struct err *err);

#endif
