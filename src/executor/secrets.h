/* The user's secrets, as a task's programs get them (--secret, --secret-file). */
#ifndef TONY_EXECUTOR_SECRETS_H
#define TONY_EXECUTOR_SECRETS_H

#include "executor/settings.h"

/* Writes those of --secret-file, which the container's owner only can read. */
int secrets_write(const struct settings *settings, struct err *err);
void secrets_set(const struct settings *settings, struct environment *environment);
/* Removes what secrets_write() has written: no program needs it now. */
void secrets_remove(const struct settings *settings);

#endif
