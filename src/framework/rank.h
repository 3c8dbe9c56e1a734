/*
 * A number for every training process of the formation, unique over all tracked types. Rank 0 is
 * the chief: the chief's type comes first (job->chief, else "chief", else "worker", else the first
 * tracked one), then the others in the job's order; within a type by index, within a task by
 * process.
 */
#ifndef TONY_FRAMEWORK_RANK_H
#define TONY_FRAMEWORK_RANK_H

#include "framework/framework.h"

struct rank {
	int rank, world;		      /* among all processes */
	int group, group_world;		      /* among all containers */
	int role, role_world;		      /* among the processes of this type */
	const struct cluster_address *master; /* of rank 0; NULL: nobody is in the world */
};

/* False when the task is not counted (not tracked, or not part of the formation): then only
 * `world` and `master` are set. */
bool rank_find(const struct framework_task *task, struct rank *rank);

/* Refuses a job without a rank 0 that is known when `who` ("JAX's processes") start: FCFS, and one
 * in which no task is tracked; then each tracked type that `check_type` (NULL: none) refuses. */
int rank_check(const struct job *job, const char *who,
	       int (*check_type)(const struct job_type *type, struct err *err), struct err *err);

/* The types whose processes are counted, in the order of their ranks. The caller frees. */
size_t *rank_order(const struct job *job, const struct cluster *cluster, size_t *count);

#endif
