/* Removing ended jobs whose directories are on this machine. */
#ifndef TONY_SCHEDULER_LOCAL_REMOVAL_H
#define TONY_SCHEDULER_LOCAL_REMOVAL_H

#include "job/job.h"
#include "scheduler/local_job.h"
#include "scheduler/removal.h"

/* See scheduler_client_ops. */
int local_removal_remove(const struct scheduler_traits *engine, const char *id,
			 struct removal *removal, struct err *err);

/* ERR_USAGE: another job uses something in the folder. The caller holds it (state_dir_hold()). */
int local_removal_check_unused(struct removal *removal, const char *job_dir, struct err *err);
/* ERR_NOT_FOUND: a folder of another job, in which this one's checkpoints or files are to be, was
 * removed meanwhile. A removal that begins from now on sees this job, in the folder job_dir. */
int local_removal_check_owners(const struct job *job, const char *job_dir, struct err *err);

/* ---- local_age.c -------------------------------------------------------------------------- */

/* How long jobs have ended; 0: they keep it. */
struct local_ages {
	int64_t logs_ms;  /* before sources and logs go, and what of tony's own goes with them */
	int64_t whole_ms; /* before the folder goes, with checkpoints and files of programs */
};

/* See scheduler_client_ops; an upkeep goes by the keys tony.jobs.max-age and
 * tony.jobs.results-max-age. */
void local_upkeep(const struct job *job, int64_t max_age_ms);
int local_ended(const struct local_engine *engine, int64_t until_ms, struct str_list *ids,
		struct err *err);

#endif
