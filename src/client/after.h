/* The jobs that a new one is to wait for, as their user names them. */
#ifndef TONY_CLIENT_AFTER_H
#define TONY_CLIENT_AFTER_H

#include "client/describe.h"

/* Fills job->after with those that have not ended yet; a job that ended as is wanted is no more to
 * be waited for, on whatever scheduler it ran. *text says of each how it stands; the caller frees.
 * -1: there is no such job, it did not end as is wanted, or the new job's AM could not see it. */
int after_resolve(const struct description *description, char **text, struct err *err);

#endif
