/*
 * Puts a type's files into the task's working directory before anything runs there: links, and
 * copies of directories. Archives are unpacked by whoever staged them; what comes from another
 * machine (a URI) is there already. Sources are as job.h says.
 */
#ifndef TONY_EXECUTOR_LOCALIZE_H
#define TONY_EXECUTOR_LOCALIZE_H

#include "base/err.h"
#include "job/job.h"

/* Refuses names that lead out of `work_dir`, also through links laid by an earlier file. A link
 * replaces a file of the same name, never a directory. */
int localize_files(const struct job_files *files, const char *work_dir, struct err *err);

/* Where `source` (as in struct job_file) is now. NULL and no error: on another machine. The caller
 * frees. */
char *localize_find(const char *source, const char *work_dir, struct err *err);

#endif
