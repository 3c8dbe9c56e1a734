/*
 * A log on its way (docs/rest.md, "Logs"): pieces of it, each behind a line that says when it was
 * written and where it stands, "TIME_MS PART OFFSET LENGTH\n". PART is in hex. A piece of length 0
 * says that there is nothing more for now; of part LOG_FRAME_CUT, that there is, and does not come;
 * of part LOG_FRAME_MISSED, that of a container that has ended nothing came: OFFSET is the attempt
 * of the task.
 */
#ifndef TONY_LOGS_FRAME_H
#define TONY_LOGS_FRAME_H

#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"
#include "logs/source.h"

#define LOG_FRAME_HEAD_MAX 96 /* bytes of a line, with its newline */

#define LOG_FRAME_CUT	 1
#define LOG_FRAME_MISSED 2

/* `span` without its bytes, or NULL: nothing more for now. */
void log_frame_append_head(struct str *out, const struct log_span *span);

/* Takes a line apart: its length; 0: it is not whole; -1: it is none. span->bytes stays unset. */
ssize_t log_frame_parse_head(const char *bytes, size_t length, struct log_span *span);

/* Takes one whole piece off the front of *bytes: 1; 0: there is none left; -1: what is left is
 * none. */
int log_frame_next(const char **bytes, size_t *length, struct log_span *span);

#endif
