/*
 * A program of the user's that chooses what a sweep tries (tony.sweep.program): it reads questions
 * from its standard input, a line of JSON each, and writes one line of JSON for each to its
 * standard output. docs/sweeps.md has them. A program that follows a killed one is told all of the
 * past first, in the order in which it came. A question fails after tony.sweep.program-timeout, and
 * with ERR_INTERRUPTED when a signal is pending (net/interrupt.h).
 */
#ifndef TONY_CLIENT_SWEEP_PROGRAM_H
#define TONY_CLIENT_SWEEP_PROGRAM_H

#include "client/sweep_config.h"
#include "sweep/state.h"

struct sweep_program;

/* `directory`: where it may keep something, which is there again for the one that follows. */
struct sweep_program *sweep_program_start(const struct sweep_config *config, const char *sweep,
					  const char *directory, struct err *err);
void sweep_program_end(struct sweep_program *program); /* NULL is fine */

/* A line of the sweep's journal, which is folded into `sweep` as far as it goes: the end of a trial
 * that has begun anew since is not told. */
int sweep_program_repeat(struct sweep_program *program, const struct sweep *sweep,
			 const json_t *line, struct err *err);

/* *end: why it has no more, for the caller to free; NULL: `values` are those of the trial. */
int sweep_program_ask(struct sweep_program *program, int64_t trial, struct str_list *values,
		      char **end, struct err *err);
/* *stop: why the trial is to be stopped, for the caller to free; NULL: it goes on. */
int sweep_program_report(struct sweep_program *program, int64_t trial, int64_t step, double value,
			 char **stop, struct err *err);
int sweep_program_tell(struct sweep_program *program, const struct sweep *sweep,
		       const struct trial *trial, struct err *err);

#endif
