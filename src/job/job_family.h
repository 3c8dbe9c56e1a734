/* Jobs that were submitted as one: the trials of a sweep, the jobs of a pipeline or an array. Their
 * tags say so, which every list of jobs has. */
#ifndef TONY_JOB_JOB_FAMILY_H
#define TONY_JOB_JOB_FAMILY_H

#include "base/str.h"

/* How the tag of a trial begins; the sweep's id follows. */
#define JOB_FAMILY_SWEEP "sweep="
/* How ids begin. */
#define JOB_FAMILY_ARRAY    "array-"
#define JOB_FAMILY_PIPELINE "pipeline-"

/* The id of the sweep, pipeline or array, a part of `tags`; NULL: the job is of none. The sweep's
 * own job is of no sweep. */
const char *job_family(const struct str_list *tags);

#endif
