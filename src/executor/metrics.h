/* Measures the task's processes. */
#ifndef TONY_EXECUTOR_METRICS_H
#define TONY_EXECUTOR_METRICS_H

#include "executor/gpu.h"
#include "executor/memory.h"
#include "executor/network.h"

/* Of the processes that `memory` is about; what is measured counts for its peak. `gpu` may be NULL.
 * Frees what `metrics` held. False, and nothing is changed: there is no process, or none that has
 * memory any more. */
bool metrics_take(struct memory *memory, struct network *network, const struct gpu *gpu,
		  struct metrics *metrics);

#endif
