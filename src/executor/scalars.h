/*
 * What a job writes for TensorBoard, read as it grows: the scalars of the event files below a
 * directory become numbers of the task (numbers.h), the directory below the root is their run.
 * Steps in a second are derived from them, as "steps_per_s".
 */
#ifndef TONY_EXECUTOR_SCALARS_H
#define TONY_EXECUTOR_SCALARS_H

#include "executor/numbers.h"

enum {
	SCALARS_DEPTH_MAX = 4, /* directories below the root */
	SCALARS_FILES_MAX = 256,
	SCALARS_RECORD_MAX = 1 << 20, /* bytes; longer ones, such as pictures, are passed over */
};

struct scalars;

/* What was written before `since_ms` (wall clock) is of an earlier container. `numbers` must
 * outlive it. The directory need not be there (yet). */
struct scalars *scalars_create(const char *root, int64_t since_ms, struct numbers *numbers);
void scalars_destroy(struct scalars *scalars); /* NULL is fine */

void scalars_look(struct scalars *scalars);

#endif
