/*
 * One output stream of a process: a pipe read into a log file that is rotated by size ("stdout",
 * then "stdout.1" is the file before, and so on). A full disk costs log lines, never the job: what
 * could not be written is counted, and told in the log and in the exit report.
 */
#ifndef TONY_EXECUTOR_OUTPUT_H
#define TONY_EXECUTOR_OUTPUT_H

#include <event2/event.h>
#include <stdint.h>

#include "base/err.h"
#include "executor/tail.h"

struct output_options {
	int64_t rotate_bytes; /* 0: never */
	int keep;	      /* rotated files kept */
	int tail_lines;	      /* 0: none */
};

struct output;

/* Reads `fd` (taken, made non-blocking) from events of `base`, and appends to `path`. */
struct output *output_open(struct event_base *base, int fd, const char *path,
			   const struct output_options *options);

/* Reads what is in the pipe now, and closes it: to be called when no writer is left. */
void output_drain(struct output *output);
void output_close(struct output *output); /* NULL is fine */

const struct tail *output_tail(const struct output *output);

/* How many bytes came. */
uint64_t output_bytes(const struct output *output);

/* Bytes that the file does not have, and why (*error is an errno). 0: all is well. */
uint64_t output_lost(const struct output *output, int *error);

#endif
