/*
 * A job that is submitted from within a task of another job of this machine, its parent. It is that
 * job's sibling for all that shares the machine: the parent's AM starts its AM beside itself, so
 * outside of the task's container, its limits and its marks, and the machine is what the parent's
 * AM sees of it.
 */
#ifndef TONY_SCHEDULER_LOCAL_PARENT_H
#define TONY_SCHEDULER_LOCAL_PARENT_H

#include "job/job.h"
#include "scheduler/capacity.h"

struct local_parent {
	char *id; /* NULL: this process is in no task of a live job of this user and machine */
	char *job_dir;
	pid_t am;
	bool is_isolated; /* the task's processes see no others: it can have no children */
};
void local_parent_find(struct local_parent *parent);
void local_parent_finish(struct local_parent *parent);
#define cleanup_local_parent __attribute__((cleanup(local_parent_finish)))

/* capacity_find() of the machine as clients see it, in a task or not. */
int local_parent_capacity(const json_t *config, struct capacity *capacity, struct err *err);

/* Before the job is written down: sets job->parent, and what the parent and those above it hold is
 * taken from `capacity`. -1: no job can be submitted here. */
int local_parent_enter(const struct local_parent *parent, struct job *job,
		       struct capacity *capacity, struct err *err);
/* "; job X, within which this one is submitted, holds 2.0 GiB beside that", or "". The caller
 * frees. */
char *local_parent_held(const struct local_parent *parent);

/* Has the parent's AM start that of the job, whose directory is ready, by the program `agent`. The
 * process, or -1. */
pid_t local_parent_start(const struct job *job, const char *job_dir, const char *agent,
			 struct err *err);

#endif
