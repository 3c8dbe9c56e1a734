/*
 * The process of a sweep: the program of its job's only task. It submits trials, watches them,
 * stops losers, and ends when there are no more. A decision stands in its journal before it is
 * carried out (sweep/state.h), so a process that follows a killed one goes on where that was.
 */
#ifndef TONY_CLIENT_SWEEP_RUN_H
#define TONY_CLIENT_SWEEP_RUN_H

#include "client/verbs.h"

/* In no list of verbs: SWEEP_RUN_VERB (sweep_control.h). */
extern const struct verb verb_run_sweep;

#endif
