/*
 * A share of a machine: what a container, a gang or a job holds or needs.
 */
#ifndef TONY_SCHEDULER_SHARE_H
#define TONY_SCHEDULER_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "job/job.h"

struct share {
	int64_t memory; /* MiB */
	int64_t vcores;
	int64_t gpus;
};

/* What one task of `type` needs. */
struct share share_of_type(const struct job_type *type);

/* Whether any task of the job needs a GPU. */
bool share_wants_gpus(const struct job *job);

/* Sums do not overflow: a job has at most JOB_MAX_TASKS tasks of at most 2^40 MiB. */
void share_add(struct share *sum, const struct share *part);

/* "8.0 GiB", "8.0 GiB and 2 GPUs", as far as it is known (not negative), with `joint` between two
 * amounts. The caller frees. */
char *share_text(const struct share *share, const char *joint);

#endif
