/* The output of a job's programs on this program's standard output and standard error, while the
 * job is watched. All functions but watch_output_open() take NULL: nothing is shown. */
#ifndef TONY_CLIENT_WATCH_OUTPUT_H
#define TONY_CLIENT_WATCH_OUTPUT_H

#include "client/follow.h"
#include "client/opened.h"

struct watch_output;

/* `tail`: begins with so many lines of each log; negative: with all. Returns NULL and `err` on
 * failure. */
struct watch_output *watch_output_open(struct opened *opened, struct follow *follow, int64_t tail,
				       struct err *err);
/* False: standard output did not take everything. That was told on standard error. */
bool watch_output_close(struct watch_output *output);

/* Writes the lines that came, of a final job all that is left. In a terminal the line that was
 * begun follows without a newline: a progress bar moves. Without such a line `idle` (may be NULL)
 * stands there. Logs that are not to be had are told of, once. */
void watch_output_show(struct watch_output *output, const char *idle);
/* Takes that line away: others may write to the terminal. */
void watch_output_hide(struct watch_output *output);

/* As job_output_wait(). */
bool watch_output_wait(struct watch_output *output, int64_t timeout_ms);

#endif
