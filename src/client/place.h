/* Where the tasks of a described job run. Files that a job names are put into a directory of each
 * task's own. A job that names none runs in the directory of `tony submit`, where its machines have
 * that. */
#ifndef TONY_CLIENT_PLACE_H
#define TONY_CLIENT_PLACE_H

#include "client/describe.h"
#include "client/opened.h"
#include "scheduler/scheduler.h"

/* Sets job->work_dir. A warning goes to standard error where the current directory cannot be used.
 * Fails (ERR_CONFIG) where a command runs a file of the current directory that no task will find:
 * `err` has a line for each. A warning names other files of such a command. */
int place_tasks(const struct description *description, const struct scheduler_client_ops *ops,
		struct err *err);

/* Where the files are that programs of the job made under a relative name: a directory, or a
 * pattern that names each task's. NULL: not on this machine. The caller frees. */
char *place_work(const struct opened *opened);

#endif
