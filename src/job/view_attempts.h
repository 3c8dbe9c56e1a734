/* The attempts of a task (view.h), folded from what its records say. */
#ifndef TONY_JOB_VIEW_ATTEMPTS_H
#define TONY_JOB_VIEW_ATTEMPTS_H

#include "job/view.h"

/* After a record was folded into the task, which was in state `from` before. */
void view_attempts_fold(struct task_view *task, enum task_state from, int64_t time_ms);
/* task->use was folded in: it is of the attempt that ended last. */
void view_attempts_use(struct task_view *task);
/* The job is over: so is the task's last attempt. */
void view_attempts_end(struct task_view *task, int64_t time_ms);
/* For how long the task has held its container since this was asked last. */
int64_t view_attempts_hold(struct task_view *task, enum task_state from, int64_t time_ms);
void view_attempts_finish(struct task_view *task);

#endif
