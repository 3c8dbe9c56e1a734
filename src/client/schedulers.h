/* Jobs on every scheduler that this user has: for verbs to which it does not matter where one runs.
 */
#ifndef TONY_CLIENT_SCHEDULERS_H
#define TONY_CLIENT_SCHEDULERS_H

#include "scheduler/scheduler.h"

/* Has this user such a scheduler? */
bool schedulers_has(const struct scheduler_client_ops *ops);

/* The first service that this user has; NULL: none. */
const struct scheduler_client_ops *schedulers_cluster(void);

/* Why this user has no such service although the environment or the machine names one
 * (scheduler_client_ops.absence); NULL: there is one, or none is named. The caller frees. */
char *schedulers_absence(void);

/* Where jobs of this user go that name no scheduler, or the one of that name (NULL: none is named).
 * *queue (`queue` may be NULL): of those that name no queue; the caller frees. NULL: `err`;
 * ERR_USAGE: no scheduler of that name tells what it has (tells_resources). */
const struct scheduler_client_ops *schedulers_choose(const char *name, char **queue,
						     struct err *err);

/* As scheduler_client_ops.find(), of the scheduler whose job it is; NULL: `err`. An id of a
 * scheduler's own form is looked for there only. A name is that of the newest live job, on this
 * machine first, else of the one that ended last: beside one that has ended nobody waits for long
 * for a scheduler that does not answer, which is warned of. The newest job is that of all. What no
 * scheduler knows is looked for in the history (scheduler/job_stores.h): this user's own record, or
 * ERR_DENIED, where another's is all there is (job_door.doubt). */
const struct scheduler_client_ops *schedulers_find(const char *id, struct job_door *door,
						   char **full_id, struct err *err);
/* The same, for those who only show it: whoever's it is, and be it in doubt. */
const struct scheduler_client_ops *schedulers_find_any(const char *id, struct job_door *door,
						       char **full_id, struct err *err);
/* The same, of a job of that user's (a name or uid), whose record is taken as it is; ERR_NOT_FOUND:
 * there is none. */
const struct scheduler_client_ops *schedulers_find_of(const char *id, const char *of,
						      struct job_door *door, char **full_id,
						      struct err *err);

/* ERR_DENIED, of a job whose record is in doubt (job_door.doubt). `remedy`: what helps. */
int schedulers_refuse(const char *id, const struct job_door *door, const char *remedy,
		      struct err *err);

/* As scheduler_client_ops.list(), of all of them. One that does not answer is warned of, unless it
 * is the only one with jobs. */
int schedulers_list(int64_t ended_since_ms, struct job_summary **jobs, size_t *count,
		    struct err *err);
#define SCHEDULERS_PATIENCE_MS 3000
/* The same, of this user (ANY_USER: of all; NULL: this one); one that does not answer within
 * `patience_ms` (0: its own) is not waited for. More than 0: one did not answer, so jobs may be
 * missing; the enum err_kind of the first of these. */
int schedulers_list_within(const char *user, int64_t patience_ms, int64_t ended_since_ms,
			   struct job_summary **jobs, size_t *count, struct err *err);

#endif
