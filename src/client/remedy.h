/* What a user can change about why a job ended. */
#ifndef TONY_CLIENT_REMEDY_H
#define TONY_CLIENT_REMEDY_H

#include "job/view.h"

/* "raise tony.worker.memory", or NULL where only the program's own output can tell. The caller
 * frees. */
char *remedy_of(const struct job_view *view);

/* The options of `tony logs` for the log that says most of the job's failure: "--task worker:0",
 * "--executor worker:0" or "--am". NULL: none. The caller frees. */
char *remedy_logs(const struct job_view *view);

#endif
