/*
 * Tracebacks that a program printed and went on: what it said later is about its end. A line behind
 * a traceback need not be the program's own, nor of its end, so this is told only where something
 * else speaks for it, too: the level of a logger, more lines than a program says on its way out, a
 * missing module that something else stands behind, an exit code that Python does not end with.
 */
#ifndef TONY_EXECUTOR_HANDLED_H
#define TONY_EXECUTOR_HANDLED_H

#include <stdbool.h>

#include "executor/traceback.h"

/* `told`: of each line, whether it is a traceback's, or no reason of an end. `code`: the program
 * exited with it; 0: a signal ended it. */
bool handled_is(const struct str_list *lines, const bool *told, const struct traceback *traceback,
		int code);

/* "ERROR:root:...", "2026-11-28 20:38:21 ...": the line is a record of a logger. */
bool handled_is_record(const char *line);

#endif
