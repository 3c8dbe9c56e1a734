/* The snapshot of src_dir. */
#ifndef TONY_CLIENT_STAGE_CLONE_H
#define TONY_CLIENT_STAGE_CLONE_H

#include <stdbool.h>

#include "base/str.h"

/* Copies directory `source` to `target`, whose parent is there, but for the files that `left_out`
 * names (absolute; they need not be there), which is told on standard error. Of much it says before
 * how much it is, on standard error; a terminal has a bar meanwhile. `interrupted` is asked now and
 * then; true ends it (ERR_FAILED). A source that holds the target is refused (ERR_CONFIG). */
int stage_clone(const char *source, const char *target, const struct str_list *left_out,
		bool (*interrupted)(void), struct err *err);

#endif
