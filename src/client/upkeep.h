/* What a submission does for those that follow: old files are removed, and what jobs have left. */
#ifndef TONY_CLIENT_UPKEEP_H
#define TONY_CLIENT_UPKEEP_H

#include "job/job.h"
#include "scheduler/scheduler.h"

/* In a process of its own that nobody waits for and that says nothing; once an hour at most. */
void upkeep_start(const struct scheduler_client_ops *ops, const struct job *job);

#endif
