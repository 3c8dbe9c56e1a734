/* What the task's processes use now, as docs/rest.md has it. */
#ifndef TONY_EXECUTOR_METRICS_H
#define TONY_EXECUTOR_METRICS_H

#include <jansson.h>

#include "executor/gpu.h"
#include "executor/memory.h"

/* Of all descendants of this process; what is measured counts for the peak of `memory`. `gpu` may
 * be NULL. */
json_t *metrics_take(struct memory *memory, const struct gpu *gpu);

#endif
