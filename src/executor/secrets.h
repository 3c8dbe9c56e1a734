/* The user's secrets, as a task's programs get them (--secret, --secret-file). */
#ifndef TONY_EXECUTOR_SECRETS_H
#define TONY_EXECUTOR_SECRETS_H

#include "executor/settings.h"
#include "job/machine.h"

/* Bytes of a line of a value: a shorter one is not masked, since it may be any word. */
enum { SECRETS_MASK_LEAST = 6 };

/* Writes those of --secret-file, which the container's owner only can read. */
int secrets_write(const struct settings *settings, struct err *err);
void secrets_set(const struct settings *settings, struct environment *environment);
/* Removes what secrets_write() has written: no program needs it now. */
void secrets_remove(const struct settings *settings);

/* Puts "***" where a line of a value stands in a cause that is the caller's own. A journal, a
 * history and notices tell the cause; a program may have printed the value before it failed. */
void secrets_mask(const struct settings *settings, struct cause *cause);

#endif
