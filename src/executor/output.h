/*
 * One output stream of a process: a pipe read into a log file that is rotated by size ("stdout",
 * then "stdout.1" is the file before, and so on).
 *
 * A full disk costs log lines, never the job. While the file cannot be written, the newest lines
 * are kept in memory (backlog.h); they are written once there is room, behind a line that marks
 * what was lost before them. Where there is no room until the end, the mark takes the place of the
 * file's last lines.
 */
#ifndef TONY_EXECUTOR_OUTPUT_H
#define TONY_EXECUTOR_OUTPUT_H

#include <event2/event.h>
#include <stdint.h>

#include "base/err.h"
#include "executor/backlog.h"
#include "executor/log_times.h"
#include "executor/mask.h"
#include "executor/restarts.h"
#include "executor/tail.h"

struct output_options {
	int64_t rotate_bytes;	       /* 0: never */
	int keep;		       /* rotated files kept */
	int tail_lines;		       /* 0: none */
	struct restarts *restarts;     /* that the stream tells of; longer-lived. NULL: none */
	const char *const *noise;      /* see noise.h; NULL: none */
	const struct mask_words *mask; /* of the job's secrets, longer-lived; NULL: none */
	struct log_turn *turn; /* among the task's streams, longer-lived; NULL: it is alone */
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

/* Output that no file has, nor will have. */
struct output_loss {
	struct backlog_count count; /* of 0 bytes: nothing */
	int64_t from_ms, to_ms;	    /* wall clock: while the file could not be written */
	char *why; /* owned; "no space left on /data (ext4: 0 B of 2.0 GiB free)" */
};

/* Borrowed. */
const struct output_loss *output_loss(const struct output *output);
/* `to` then tells of both. */
void output_loss_add(struct output_loss *to, const struct output_loss *loss);
void output_loss_finish(struct output_loss *loss);
/* "12 lines (4 KiB) of its output were lost between 2026-11-23T18:00:00.000Z and ...: no space left
 * on ..."; `whose` is "its". The caller frees. */
char *output_loss_text(const struct output_loss *loss, const char *whose);

#endif
