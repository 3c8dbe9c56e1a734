/* Files that a submission has put into the job's directory. Sources of jobs that have ended are
 * kept once per content, however many jobs had them. */
#ifndef TONY_SCHEDULER_LOCAL_SOURCES_H
#define TONY_SCHEDULER_LOCAL_SOURCES_H

#include "base/err.h"

/* Where a job's snapshot of src_dir is. The caller frees. */
char *local_sources_path(const char *job_dir);

/* Where a job's standard input is, if it has one. The caller frees. */
char *local_sources_stdin(const char *job_dir);

/* Moves the snapshot of a job that has ended to <state>/cache/<hash>, unless its content is there,
 * and puts a link in its place. Nothing happens where there is no snapshot, or it is a link, or
 * what the cache has under this name was changed. */
int local_sources_share(const char *job_dir, struct err *err);

/* Removes what a process that was killed while it shared the sources of an ended job has left. */
void local_sources_tidy(const char *job_dir);

/* The name in the cache of what the job shares; NULL: nothing. The caller frees. */
char *local_sources_shared(const char *job_dir);

#endif
