/* The logs of a job's containers on YARN: aggregated ones, and those that NodeManagers still have.
 */
#ifndef TONY_SCHEDULER_YARN_LOGS_H
#define TONY_SCHEDULER_YARN_LOGS_H

#include "logs/job_logs.h"
#include "scheduler/scheduler.h"

/* For struct scheduler_client_ops. Nothing is asked before a log is opened. */
struct job_logs *yarn_logs(const struct job_door *door, const struct job *job, struct err *err);

/* Aggregated ones alone, those that are there at this moment, and of `owner`'s applications only,
 * wherever this machine's site files say. Nothing is asked but the cluster's file system, and
 * nothing waited for. NULL: ERR_NOT_FOUND, there are none (yet). */
struct job_logs *yarn_logs_shown(const struct job *job, const char *application, const char *owner,
				 struct err *err);

#endif
