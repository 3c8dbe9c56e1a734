/* Jobs that tasks of this job submit (local_parent.h), as its AM starts them. */
#ifndef TONY_SCHEDULER_LOCAL_CHILD_H
#define TONY_SCHEDULER_LOCAL_CHILD_H

#include "scheduler/scheduler.h"

/* See scheduler_ops.start_child(). */
pid_t local_child_start(struct scheduler *scheduler, const struct scheduler_child *child,
			struct err *err);

struct local;
/* They live on. */
void local_children_forget(struct local *local);

#endif
