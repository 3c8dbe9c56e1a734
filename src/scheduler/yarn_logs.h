/* The logs of a job's containers on YARN: aggregated ones, and those that NodeManagers still have.
 */
#ifndef TONY_SCHEDULER_YARN_LOGS_H
#define TONY_SCHEDULER_YARN_LOGS_H

#include "hadoop/aggregated.h"
#include "hadoop/node_log.h"
#include "scheduler/job_logs.h"
#include "scheduler/scheduler.h"

/* For struct scheduler_client_ops. Nothing is asked before a log is opened. */
struct job_logs *yarn_logs(const struct job_door *door, const struct job *job, struct err *err);

/* Aggregated ones alone, those that are there at this moment, and of `owner`'s applications only,
 * wherever this machine's site files say. Nothing is asked but the cluster's file system, and
 * nothing waited for. NULL: ERR_NOT_FOUND, there are none (yet). */
struct job_logs *yarn_logs_aggregated(const char *application, const char *owner, struct err *err);

/* ---- what its parts share ----------------------------------------------------------------- */

/* The log `name` of a container; NULL: ERR_NOT_FOUND, it has none. `container` is to outlive it. */
struct job_log *yarn_log_kept(const struct aggregated_container *container, const char *name,
			      struct err *err);

/* The same out of what a NodeManager has; all of it is fetched now, into files that nobody else
 * sees. */
struct job_log *yarn_log_of_node(const struct node_log_question *question, const char *name,
				 struct err *err);

#endif
