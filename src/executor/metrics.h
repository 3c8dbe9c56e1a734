/* What the task's processes use now, as docs/rest.md has it. */
#ifndef TONY_EXECUTOR_METRICS_H
#define TONY_EXECUTOR_METRICS_H

#include <jansson.h>

#include "executor/gpu.h"
#include "executor/memory.h"
#include "executor/network.h"

/* Of the processes that `memory` is about; what is measured counts for its peak. `gpu` may be NULL.
 * NULL: there is no process, or none that has memory any more. */
json_t *metrics_take(struct memory *memory, struct network *network, const struct gpu *gpu);

#endif
