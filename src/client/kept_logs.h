/* The logs of all containers that a job has had, where its scheduler's cluster keeps them. */
#ifndef TONY_CLIENT_KEPT_LOGS_H
#define TONY_CLIENT_KEPT_LOGS_H

#include "client/opened.h"
#include "scheduler/job_logs.h"

struct kept_logs;

/* Which containers there were is in the job's journal. opened->ops->logs is not NULL. */
struct kept_logs *kept_logs_create(const struct opened *opened, struct err *err);
void kept_logs_destroy(struct kept_logs *kept); /* NULL is fine */

/* Nothing but the ends that a history keeps (job_logs.h). */
bool kept_logs_has_ends(const struct kept_logs *kept);

/* The log `name` ("stdout") of an attempt of a task, from 1; `kept` is to outlive it. NULL: `err`;
 * ERR_NOT_FOUND: it has left none, or there was no such container. */
struct job_log *kept_logs_open(struct kept_logs *kept, size_t task, int attempt, const char *name,
			       struct err *err);

/* The log of the job's AM of this attempt, from 1. */
struct job_log *kept_logs_open_am(struct kept_logs *kept, int attempt, struct err *err);

#endif
