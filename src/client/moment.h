/* A moment as users write it. */
#ifndef TONY_CLIENT_MOMENT_H
#define TONY_CLIENT_MOMENT_H

#include <stdint.h>

#include "base/err.h"

/* "5m" (ago; a bare number counts seconds), "2026-11-21T06:14:11Z" or "2026-11-21"; all times are
 * UTC. ERR_USAGE names `option`. */
int moment_parse(const char *option, const char *text, int64_t *ms, struct err *err);

#endif
