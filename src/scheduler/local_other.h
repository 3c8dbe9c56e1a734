/* How another job stands whose directory is beside that of the AM's own. */
#ifndef TONY_SCHEDULER_LOCAL_OTHER_H
#define TONY_SCHEDULER_LOCAL_OTHER_H

#include "scheduler/scheduler.h"

/* See scheduler_ops.look_at(). `is_held`: as that of struct local_engine. Of a job whose directory
 * was removed the history tells, if that is on this machine. */
void local_other_look(const struct job *job, const char *job_dir,
		      bool (*is_held)(const char *job_dir), const struct awaited *awaited,
		      struct scheduler_other *other);

#endif
