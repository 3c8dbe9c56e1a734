/* The end of the files that a job on this machine had. */
#ifndef TONY_SCHEDULER_LOCAL_END_H
#define TONY_SCHEDULER_LOCAL_END_H

#include "job/job.h"

/* Removes the job's standard input, which may be large, or secret. */
void local_end_stdin(const char *job_dir);

/* The same; then takes the copies of the job's sources back and brings these to the cache. Called
 * by the last of the job's processes, and by clients in its place: what is done already stays so.
 * Logs what cannot be done. May block as long as a file system does. */
void local_end_files(const struct job *job, const char *job_dir);

#endif
