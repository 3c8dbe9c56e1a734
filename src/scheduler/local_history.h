/* The history of a local job, at its end. */
#ifndef TONY_SCHEDULER_LOCAL_HISTORY_H
#define TONY_SCHEDULER_LOCAL_HISTORY_H

#include "job/job.h"

/* Where it goes: what tony.history.location says, or <state>/history. The caller frees. */
char *local_history_location(const struct job *job, const char *job_dir);

/* The directory of a container of a local job. The caller frees. */
char *local_container_directory(const char *job_dir, const char *type, int index, int attempt);

/* Brings the history of a job that has ended to its place; what is there already stays. `packed`:
 * a directory that the AM has packed (history/pack.h); NULL: what job_dir tells is packed here.
 * Blocks. */
int local_history_publish(const struct job *job, const char *job_dir, const char *packed,
			  struct err *err);

/* The same from what job_dir tells, for the last of the job's processes: a failure becomes the
 * last line of the job's journal, unless it is that already, and is logged. */
void local_history_conclude(const struct job *job, const char *job_dir);

/* Why that will fail, as far as it is seen without trying, and within half a second; NULL: nothing
 * is seen. The caller frees. */
char *local_history_trouble(const struct job *job, const char *job_dir);

#endif
