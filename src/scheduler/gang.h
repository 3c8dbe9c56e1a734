/* Which tasks must run at the same time, and whether this machine can ever do that. */
#ifndef TONY_SCHEDULER_GANG_H
#define TONY_SCHEDULER_GANG_H

#include "scheduler/capacity.h"
#include "scheduler/scheduler.h"

/* What all of these need together. */
struct share gang_share(const struct job *job, const struct scheduler_request *requests,
			size_t count);

/* NULL when the empty machine can give each of these and, with JOB_MODE_GANG, all together; else
 * "worker:0 needs 64.0 GiB; this machine has ..." or "4 tasks that run together (worker x 3, ps x
 * 1) need ...". The caller frees. */
char *gang_refusal(const struct job *job, const struct capacity *capacity,
		   const struct scheduler_request *requests, size_t count);

/* The same for a whole job. Types that wait for others need not run together with them; those
 * that wait for none are asked for together. */
char *gang_refusal_of_job(const struct job *job, const struct capacity *capacity);

#endif
