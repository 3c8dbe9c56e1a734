/* A trial of a sweep as the sweep's process handles it: a job that is submitted, watched, and
 * killed where it is a loser. */
#ifndef TONY_CLIENT_SWEEP_TRIAL_H
#define TONY_CLIENT_SWEEP_TRIAL_H

#include "client/sweep_control.h"

/* Submits the job, from a process of its own, and waits for that. `note` gets the job's id before
 * the engine hears of it; where it fails, the job is not submitted. *id: the caller's to free.
 * ERR_UNREACHABLE: whether it was submitted is not known, if `note` was called. */
int sweep_trial_submit(const struct sweep_trial *trial,
		       int (*note)(void *data, const char *id, struct err *err), void *data,
		       char **id, struct err *err);

/* Asks its AM to end it, or the engine where there is no AM, and says that the sweep does. */
int sweep_trial_kill(struct opened *opened, const char *sweep, const char *reason, struct err *err);

/* The metric as a job has reported it, the oldest value first. Without steps of its own these count
 * from 1. */
struct sweep_numbers {
	int64_t *steps;
	double *values;
	size_t count;
};
void sweep_numbers_finish(struct sweep_numbers *numbers);
#define cleanup_sweep_numbers __attribute__((cleanup(sweep_numbers_finish)))
/* Of a live job its AM is asked: nothing where it does not answer. */
void sweep_trial_numbers(const struct opened *opened, const char *metric,
			 struct sweep_numbers *numbers);

#endif
