/*
 * A line of TONY_METRICS_FILE (tony-env(7)): a JSON object whose numbers are what a program tells
 * of itself, {"step": 120, "loss": 0.31}. "t" (ms since 1970), "step" and "run" say of what all of
 * them are. NaN and Infinity, which Python writes, are taken for numbers that are not known.
 */
#ifndef TONY_EXECUTOR_NUMBER_LINE_H
#define TONY_EXECUTOR_NUMBER_LINE_H

#include <stddef.h>

#include "base/err.h"
#include "protocol/numbers.h"

enum { NUMBER_LINE_CAP = 65536 };

/* Calls `take` with each number; what is of another type is passed over, and what has a name that
 * is too long or cannot be shown. -1: the line, of `length` bytes without its newline, is no JSON
 * object. */
int number_line_read(const char *bytes, size_t length,
		     void (*take)(void *data, const struct number *number), void *data,
		     struct err *err);

#endif
