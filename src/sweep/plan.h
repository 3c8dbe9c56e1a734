/*
 * Which combinations a sweep tries, and which trials it stops early: decisions alone, without I/O,
 * clock or state. The same plan and number give the same combination on every machine, so a sweep
 * that goes on after its process was killed needs none but the journal's numbers.
 */
#ifndef TONY_SWEEP_PLAN_H
#define TONY_SWEEP_PLAN_H

#include "sweep/space.h"

enum sweep_strategy {
	SWEEP_GRID,   /* every combination; the last parameter changes fastest */
	SWEEP_RANDOM, /* each parameter by chance */
	SWEEP_LATIN,  /* likewise, so that every part of each parameter's values is tried equally
			 often (a Latin hypercube) */
	SWEEP_ASKED,  /* a program of the user's says which (client/sweep_program.h) */
};

struct sweep_plan {
	struct sweep_space space;
	enum sweep_strategy strategy;
	int64_t seed;
	int64_t trials; /* at most so many; > 0 */

	/* A trial reports it. */
	char *metric;
	bool maximize;
	bool takes_best; /* a trial is worth its best value, and not its last */

	/* Trials that are not among the best are stopped at rungs (ASHA); reduction 0: none is. */
	int64_t first_rung; /* a step */
	int64_t reduction;
};
void sweep_plan_finish(struct sweep_plan *plan);

/* The values of the trial with this number, in the order of the space. Not for SWEEP_ASKED. */
void sweep_plan_values(const struct sweep_plan *plan, int64_t number, struct str_list *values);

/* The step of a rung (0, 1, ...): first_rung, times `reduction` for each further one. */
int64_t sweep_plan_rung(const struct sweep_plan *plan, int rung);

/* Whether `a` is better than `b`. NaN is never better. */
bool sweep_plan_is_better(const struct sweep_plan *plan, double a, double b);

/* Whether a trial goes on that has reached a rung with this value. `values`: those of all trials
 * that have reached it before, without this one. Asynchronous successive halving: it goes on when
 * it is among the best 1/reduction of all of them so far, and the best one always does. */
bool sweep_plan_goes_on(const struct sweep_plan *plan, const double *values, size_t count,
			double own);

#endif
