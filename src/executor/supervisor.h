/*
 * The life of an executor after its start: does what the AM's orders say, and reports what happens.
 * Orders are levels: the last one is the goal, and every event moves one step nearer to it.
 */
#ifndef TONY_EXECUTOR_SUPERVISOR_H
#define TONY_EXECUTOR_SUPERVISOR_H

#include "base/guard.h"
#include "executor/settings.h"

/* Runs until there is nothing more to do; no process of the task is left then. Returns an exit code
 * of executor.h; -1: could not begin. `guard` may be NULL. */
int supervisor_run(const struct settings *settings, const struct guard *guard, struct err *err);

#endif
