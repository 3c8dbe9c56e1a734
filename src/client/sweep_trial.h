/* A trial of a sweep as the sweep's process handles it: a job that is submitted, watched, and
 * killed where it is a loser. */
#ifndef TONY_CLIENT_SWEEP_TRIAL_H
#define TONY_CLIENT_SWEEP_TRIAL_H

#include "client/sweep_control.h"
#include "job/series.h"

/* Submits the job, from a process of its own, and waits for that. `note` gets the job's id before
 * the engine hears of it; where it fails, the job is not submitted. *id: the caller's to free.
 * ERR_UNREACHABLE: whether it was submitted is not known, if `note` was called. */
int sweep_trial_submit(const struct sweep_trial *trial,
		       int (*note)(void *data, const char *id, struct err *err), void *data,
		       char **id, struct err *err);

/* Asks its AM to end it, or the engine where there is no AM, and says that the sweep does. *call:
 * the AM's answer is awaited. */
int sweep_trial_kill(struct opened *opened, struct am_calls *calls, const char *sweep,
		     const char *reason, struct am_call **call, struct err *err);
/* Takes the answer, if it has come. The engine ends the job where the AM gave none. */
int sweep_trial_killed(struct opened *opened, struct am_call **call, const char *reason,
		       struct err *err);

/* The metric as a job has reported it, the oldest value first; NaN counts. Without steps of its own
 * these count from 1. Values may be means of neighbours: `facts` has the exact least, most and
 * last. */
struct sweep_numbers {
	int64_t *steps;
	double *values;
	size_t count;
	struct series_facts facts;
};
void sweep_numbers_finish(struct sweep_numbers *numbers);
#define cleanup_sweep_numbers __attribute__((cleanup(sweep_numbers_finish)))
/* As they were kept of a job that has ended. */
void sweep_trial_kept(const struct opened *opened, const char *metric,
		      struct sweep_numbers *numbers);

/* "loss, accuracy": the numbers that it has reported; NULL: none. The caller frees. */
char *sweep_trial_reported(const struct opened *opened);

/* A question to the AM of a live job, about one task after the other until one reports the metric.
 */
struct sweep_question {
	size_t task; /* of the job's view */
	struct am_call *call;
};
/* Takes the answer of the question before, nothing where there is none yet, and asks anew. */
void sweep_trial_ask(const struct opened *opened, const char *metric, struct am_calls *calls,
		     struct sweep_question *question, struct sweep_numbers *numbers);

#endif
