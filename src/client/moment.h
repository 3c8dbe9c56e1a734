/* A moment as users write it. */
#ifndef TONY_CLIENT_MOMENT_H
#define TONY_CLIENT_MOMENT_H

#include <stdint.h>

#include "base/err.h"

/* "5m" (ago; a bare number counts seconds), "2026-11-21T06:14:11Z" or "2026-11-21"; all times are
 * UTC. ERR_USAGE names `option`. */
int moment_parse(const char *option, const char *text, int64_t *ms, struct err *err);

/* A time to come, by this machine's clock: "now+1h30m", "22:00" (the next one), "2026-11-21",
 * "2026-11-21T06:14" or "2026-11-21T06:14:11", a date with "Z" behind it of UTC. The error is a
 * phrase, as key_check() has it. */
int moment_parse_coming(const char *text, int64_t *ms, struct err *err);

#endif
