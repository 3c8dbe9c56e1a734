/* Commands of people to a job (docs/rest.md), checked as executors' messages are. */
#ifndef TONY_AM_COMMAND_H
#define TONY_AM_COMMAND_H

#include <stddef.h>

#include "base/err.h"
#include "job/job.h"

/* {"by": "...", "reason": "..."}; no bytes at all are fine. The texts are printable, or NULL; the
 * caller frees both, whatever the result. */
int command_parse_kill(char **by, char **reason, const char *bytes, size_t length, struct err *err);
/* {"worker": 8}: how many tasks of elastic types are wanted. `wanted` has room for each type of the
 * job; -1: the type is not named. */
int command_parse_scale(const struct job *job, int *wanted, const char *bytes, size_t length,
			struct err *err);

#endif
