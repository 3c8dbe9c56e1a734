/* The snapshot of src_dir. */
#ifndef TONY_CLIENT_STAGE_CLONE_H
#define TONY_CLIENT_STAGE_CLONE_H

#include <stdbool.h>

#include "base/err.h"

/* Copies directory `source` to `target`, whose parent is there. Of much it says before how much it
 * is, on standard error; a terminal has a bar meanwhile. `interrupted` is asked now and then; true
 * ends it (ERR_FAILED). A source that holds the target is refused (ERR_CONFIG). */
int stage_clone(const char *source, const char *target, bool (*interrupted)(void), struct err *err);

#endif
