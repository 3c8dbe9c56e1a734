/* What a user can change about why a job ended. */
#ifndef TONY_CLIENT_REMEDY_H
#define TONY_CLIENT_REMEDY_H

#include "job/view.h"

/* "raise tony.worker.memory", or NULL where only the program's own output can tell. The caller
 * frees. */
char *remedy_of(const struct job_view *view);

#endif
