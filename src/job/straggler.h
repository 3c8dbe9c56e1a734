/*
 * Tasks that are far behind their siblings, the others of their type: few of many, and a wide gap
 * between them and the rest. Where all differ, there are none. Pure.
 */
#ifndef TONY_JOB_STRAGGLER_H
#define TONY_JOB_STRAGGLER_H

#include <stdbool.h>
#include <stddef.h>

/* ---- one figure of each sibling ----------------------------------------------------------- */

/* The more, the better. */
struct straggler_row {
	size_t task;
	double value;
	bool lagged; /* it was found to lag before */
};

/* Of the median. Who has `lag` of it or less lags, until it has more than `normal`, as nearly all
 * have. */
struct straggler_gap {
	double lag, normal;
};
extern const struct straggler_gap straggler_pace; /* of steps, and the time that work takes */

/* Moves those that lag to the front, the smallest first, and returns how many they are; then the
 * middle one of the rows is still the median, which is set. */
size_t straggler_find(struct straggler_row *rows, size_t count, const struct straggler_gap *gap,
		      double *median);

/* ---- what is known of running tasks ------------------------------------------------------- */

enum straggler_kind {
	STRAGGLER_NONE,
	STRAGGLER_STEP, /* the step that it has come to */
	STRAGGLER_RATE, /* steps per second */
	STRAGGLER_GPU,	/* percent of its devices */
	STRAGGLER_CPU,	/* percent of a core */
	STRAGGLER_KIND_COUNT
};
const char *straggler_kind_name(enum straggler_kind kind); /* "step"; of NONE "" */

/* NAN: not known. "Recently" is over the same time for all. */
struct straggler_signs {
	bool runs;		  /* else only its step may be known: siblings are behind it */
	double step, step_before; /* now, and as long ago as "recently" */
	double steps_made, seconds;
	double gpu_percent, cpu_percent;
};

struct straggler {
	enum straggler_kind kind;
	double own, others; /* its figure, and the median of all */
};

/* Looks at all tasks of one type. `found` has what was found before (at first all zero), and then
 * what is found now. Who tells its steps is judged by these, not by its processor time: who waits
 * for others may use more. */
void straggler_look(const struct straggler_signs *signs, size_t count, struct straggler *found);

/* "worker:3 is at step 120, its siblings at 400". The caller frees. */
char *straggler_text(const struct straggler *straggler, const char *task);

#endif
