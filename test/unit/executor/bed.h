/* A job of one task type, and what tests of running programs share. */
#ifndef TONY_TEST_UNIT_EXECUTOR_BED_H
#define TONY_TEST_UNIT_EXECUTOR_BED_H

#include <stdbool.h>

#include "job/job.h"

/* A type "worker" with one task running `command`; grace PATIENCE_MS, no limits. The caller changes
 * what it wants and calls job_destroy(). */
struct job *bed_job(const char *command);

/* Waits until a file holds a line's end, and returns the number in it. */
int bed_await_number(void **state, const char *name);

/* Waits until no such process lives. */
void bed_await_end(int pid);

#endif
