/* Delegation tokens of HDFS (hadoop/hdfs_token.h) for a job's processes, on the client's side. */
#ifndef TONY_SCHEDULER_JOB_TOKENS_H
#define TONY_SCHEDULER_JOB_TOKENS_H

#include "hadoop/hdfs_access.h"
#include "job/job.h"

/* Of the file systems of the job's checkpoints, results and history, as far as `access` leads
 * there. */
int job_tokens_get(const struct hdfs_access *access, const struct job *job, struct err *err);

/* Of the default file system, of which programs may read (TONY_FILES). */
int job_tokens_get_default(const struct hdfs_access *access, struct err *err);

/* Asks each file system for something by the token that was found or got of it. -1: `err`, one of
 * them does not take it; whether it answers is of no matter. */
int job_tokens_try(const struct hdfs_access *access, struct err *err);

/* Appends all that this process has got so far, as scheduler_client_ops.renew(). */
void job_tokens_encode(struct str *tokens, struct str_list *names);

#endif
