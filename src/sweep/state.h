/*
 * Where a sweep stands: its trials, folded from the lines of its journal (sweep.jsonl in the
 * checkpoint directory of the sweep's job). A line is written before its deed is done, or right
 * after where another process does it, so the sweep's next process does nothing twice:
 *
 *   {"t": MS, "event": "begin", "sweep": ID}   the job whose journal it is from here on: the one
 *       before it has ended, and trials that it did not bring to an end begin anew
 *   {"event": "ask", "trial": 3, "values": ["0.1", "64"]}   there is a trial
 *   {"event": "submit", "trial": 3, "job": ID}   its job is about to be submitted
 *   {"event": "job", "trial": 3, "job": ID}      it was
 *   {"event": "rung", "trial": 3, "rung": 0, "step": 1, "value": 0.7}   how it stood there
 *   {"event": "stop", "trial": 3, "text": WHY}   it is a loser: its job is about to be killed
 *   {"event": "again", "trial": 3, "text": WHY}  its job was lost: there will be another one
 *   {"event": "end", "trial": 3, "state": "completed", "value": 0.2, "step": 81, "cores_ms": ...}
 *       with "exit_code" where its program failed with one, and "nan": true instead of the value
 *       where that was NaN
 *   {"event": "enough", "text": WHY}          no more trials begin
 */
#ifndef TONY_SWEEP_STATE_H
#define TONY_SWEEP_STATE_H

#include <jansson.h>

#include "sweep/plan.h"

enum { SWEEP_RUNGS_MAX = 40, SWEEP_TRIALS_MAX = 100000 };

enum trial_state {
	TRIAL_PLANNED, /* without a job */
	TRIAL_RUNNING, /* its job was submitted, or is being submitted, and may wait */
	TRIAL_COMPLETED,
	TRIAL_STOPPED, /* early: it was a loser */
	TRIAL_FAILED,
	TRIAL_KILLED, /* by somebody else than the sweep, or with it */
	TRIAL_STATE_COUNT,
};
const char *trial_state_name(enum trial_state state);

struct trial {
	int64_t number;
	struct str_list values; /* as the plan's space */
	enum trial_state state;
	int submissions;
	bool submitting;	      /* TRIAL_RUNNING: its engine may not know the job yet */
	bool stopping;		      /* TRIAL_RUNNING, and its job is being killed as a loser's */
	char *job;		      /* NULL: none yet */
	char *text;		      /* why it was stopped or failed; NULL: nothing to tell */
	int64_t started_ms, ended_ms; /* wall clock; 0: not yet */
	int64_t cores_ms;	      /* cores that its jobs had, times how long */
	int exit_code;		      /* of the program by which it failed; 0: by something else */
	int64_t step;		      /* of `value`; 0: not known */
	double value, best;	      /* of the metric; NaN: none yet, or */
	bool is_nan;		      /* `value`: it was reported as NaN */
	double rungs[SWEEP_RUNGS_MAX];
	int rung_count;
	int64_t told_step; /* the newest that the program which chooses values was told */
};

struct sweep {
	const struct sweep_plan *plan; /* borrowed */
	struct trial *trials;
	size_t count;
	char *enough;		 /* why no more trials begin; NULL: some may */
	char *first, *id;	 /* the sweep that began, and the one that goes on */
	int64_t begun_ms;	 /* of that; wall clock */
	int64_t cores_ms_before; /* what trials had that it has taken over */
};
void sweep_finish(struct sweep *sweep);

/* Folds one line in. */
int sweep_add(struct sweep *sweep, const json_t *line, struct err *err);

/* A number that the trial has reported; NaN counts, too: one that has diverged is no good one. */
void sweep_note_value(const struct sweep *sweep, struct trial *trial, int64_t step, double value);
/* The trial's value in the comparison; NaN: it has reported nothing, or that. */
double sweep_worth(const struct sweep *sweep, const struct trial *trial);

size_t sweep_count(const struct sweep *sweep, enum trial_state state);
/* NULL: no trial has a value. A trial that failed or was killed is none. */
const struct trial *sweep_best(const struct sweep *sweep);
struct sweep_rank {
	size_t own, of; /* 1 is the best; of those that have reached the rung so far */
};
/* Whether a trial goes on that has reached its next rung with this value, and how it stands there.
 */
bool sweep_goes_on(const struct sweep *sweep, const struct trial *trial, double value,
		   struct sweep_rank *rank);

/* As GET /v1/sweep has it (docs/rest.md). */
json_t *sweep_to_json(const struct sweep *sweep);

#endif
