/* Jobs that were submitted as one: the trials of a sweep, the jobs of a pipeline or an array. Their
 * tags say so, which every list of jobs has. */
#ifndef TONY_JOB_JOB_FAMILY_H
#define TONY_JOB_JOB_FAMILY_H

#include "base/str.h"

/* How the tag of a trial begins; the sweep's id follows. */
#define JOB_FAMILY_SWEEP "sweep="
/* How the tag begins by which a pipeline finds a job whose result it can take again; the hash of
 * the node's inputs follows. */
#define JOB_FAMILY_INPUTS "inputs-"
/* How ids begin. */
#define JOB_FAMILY_ARRAY    "array-"
#define JOB_FAMILY_PIPELINE "pipeline-"

/* The id of the sweep, pipeline or array, a part of `tags`; NULL: the job is of none. The sweep's
 * own job is of no sweep. */
const char *job_family(const struct str_list *tags);

/* One id and one user: anybody can tag jobs with another's. `user` may be NULL; the caller frees.
 */
char *job_family_key(const char *id, const char *user);

/* A sweep has a job of its own beside its trials, which says how it ended; a pipeline or an array
 * has none. */
bool job_family_has_head(const char *family);

/* The job has the tag from its sweep, pipeline or array, and not from its user. */
bool job_family_gave(const char *tag);

#endif
