/* Which tasks must run at the same time, and whether this machine can ever do that. */
#ifndef TONY_SCHEDULER_GANG_H
#define TONY_SCHEDULER_GANG_H

#include "scheduler/capacity.h"
#include "scheduler/scheduler.h"

/* Asks for those of the gang together (with JOB_MODE_GANG all that are not optional), then for each
 * of the others by itself. */
typedef void gang_ask(void *data, const struct scheduler_request *requests, size_t count);
void gang_ask_all(const struct job *job, const struct scheduler_request *requests, size_t count,
		  gang_ask *ask, void *data);

/* NULL when the empty machine can give each of these and, with JOB_MODE_GANG, all together; else
 * "worker:0 needs 64.0 GiB; this machine has ...; lower tony.worker.memory" or "4 tasks that run
 * together (worker x 3, ps x 1) need ...". The caller frees. */
char *gang_refusal(const struct job *job, const struct capacity *capacity,
		   const struct scheduler_request *requests, size_t count);

/* The same for a whole job, of elastic types the least that can run, or all that is wanted. Types
 * that wait for others need not run together with them; those that wait for none are asked for
 * together. A task for which somebody asked for more cores than there are is refused, too. */
char *gang_refusal_of_job(const struct job *job, const struct capacity *capacity, bool wanted);

#endif
