/* Ages that a user types: "30d". */
#ifndef TONY_CLIENT_AGE_H
#define TONY_CLIENT_AGE_H

#include <stdint.h>

#include "base/err.h"

/* ERR_USAGE: the value is a number without a unit, and not 0. `example`: a unit. NULL is fine. */
int age_check_unit(const char *option, const char *value, const char *example, struct err *err);

int age_parse(const char *option, const char *value, int64_t *ms, struct err *err);

#endif
