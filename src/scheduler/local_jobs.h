/* The jobs of this user whose directories are on this machine, by name. */
#ifndef TONY_SCHEDULER_LOCAL_JOBS_H
#define TONY_SCHEDULER_LOCAL_JOBS_H

#include "scheduler/local_job.h"

/* "tony-20261121-061400-1f3a09c4" */
bool local_jobs_is_id(const char *id, struct history_days *days);

/* Both end what is left of jobs whose AM is gone, on the way. See scheduler_client_ops. */
int local_jobs_find(const struct local_engine *engine, const char *id, struct job_door *door,
		    char **full_id, struct err *err);
int local_jobs_list(const struct local_engine *engine, int64_t ended_since_ms,
		    struct job_summary **jobs, size_t *count, struct err *err);

#endif
