/* Makes of a job that was described as a user wants it the sweep that runs it many times. */
#ifndef TONY_CLIENT_SWEEP_CONTROL_H
#define TONY_CLIENT_SWEEP_CONTROL_H

#include "client/opened.h"
#include "client/stage.h"
#include "sweep/state.h"

#define SWEEP_RUN_VERB	     "run-sweep" /* of tony, for no user: the program of the sweep's task */
#define SWEEP_NONE_COMPLETED "no trial has completed"
enum { SWEEP_EXIT_LAST = 125 };	    /* of its process: with a higher one it begins again */
#define SWEEP_TASK    "sweep"	    /* the type of that task */
#define SWEEP_JOURNAL "sweep.jsonl" /* in the sweep's checkpoint directory: sweep/state.h */

/* The description keeps configuration, sources, variables and secrets, from which each trial is
 * made as tony rerun makes a job, and its types without instances. One task of this machine is
 * added. `resumed`: the sweep that has ended and is to go on, in its directory; NULL: none.
 * ERR_USAGE: it is of an array, or waits for a job of another engine, or `resumed` is another
 * sweep. */
int sweep_control(struct description *description, struct stage *stage,
		  const struct opened *resumed, struct err *err);

struct sweep_trial {
	const struct opened *sweep; /* its own job */
	const struct sweep_plan *plan;
	const struct trial *trial;
};

/* Writes into the description of a trial's job of which sweep it is: name and tag, too. A job that
 * may have been submitted already keeps its id, by which an engine with ids of its own takes both
 * for one. */
void sweep_control_mark(const struct sweep_trial *trial, struct job *job);

/* The tag by which all jobs of a sweep are found. The caller frees. */
char *sweep_control_tag(const char *sweep);
/* Adds the ids of those jobs. -1: a scheduler does not tell its own. */
int sweep_trials(const char *sweep, bool live_only, struct str_list *ids, struct err *err);

#endif
