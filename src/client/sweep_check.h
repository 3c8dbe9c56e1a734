/* Whether the trials of a sweep can find its parameters. */
#ifndef TONY_CLIENT_SWEEP_CHECK_H
#define TONY_CLIENT_SWEEP_CHECK_H

#include "base/err.h"
#include "job/job.h"

/* A parameter that is a key is one that tony has, with a value of its form; and a command has no
 * {NAME} or ${NAME} that is all but a parameter's. ERR_CONFIG. */
int sweep_check(const struct job *job, struct err *err);

#endif
