/* What submit, check and render have in common: options in, a described and planned job out. */
#ifndef TONY_CLIENT_JOB_VERB_H
#define TONY_CLIENT_JOB_VERB_H

#include "client/describe.h"
#include "client/stage.h"
#include "framework/framework.h"
#include "scheduler/scheduler.h"

/* Describes the job, plans its files and sees that every command and environment expands. The
 * operands and `dashdash` are those of opt_parse(). Both targets are zeroed by the caller and
 * finished by it, whatever the result. */
int job_verb_describe(const struct job_options *options, const struct str_list *operands,
		      size_t dashdash, struct description *description, struct stage *stage,
		      struct err *err);

/* The client's side of the scheduler that the description names. */
const struct scheduler_client_ops *job_verb_scheduler(const struct description *description);

/* A cluster of example addresses, and a task of it that has not started. */
struct cluster *job_verb_example_cluster(const struct job *job);
void job_verb_example_task(const struct job *job, const struct cluster *cluster, size_t type,
			   int index, struct framework_task *task);

#endif
