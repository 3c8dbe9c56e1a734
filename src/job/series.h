/*
 * A bounded time series: samples of one or several values, each with a time and, where wanted, a
 * step. When it is full, neighbours become one point, and from then on every point stands for twice
 * as many samples; so all of a job's life is there, the coarser the longer it is. A point has the
 * mean of what it stands for, and the time and step of the last.
 */
#ifndef TONY_JOB_SERIES_H
#define TONY_JOB_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SERIES_POINTS_MIN = 32, SERIES_POINTS_MAX = 512 };

struct series;

/* At most `points` of them (even, at least 2) with `columns` values each. */
struct series *series_create(size_t columns, size_t points, bool with_steps);
void series_destroy(struct series *series); /* NULL is fine */

/* How many points with these columns each of `count` series may have in `bytes` of memory, all of
 * them together: never less than SERIES_POINTS_MIN. */
size_t series_share(size_t bytes, size_t count, size_t columns, bool with_steps);
size_t series_bytes(size_t columns, size_t points, bool with_steps);

/* Times do not go back: one before that of the last sample is taken for the same. `values` has one
 * of each column; NAN: there is none. `step` is not looked at without steps. */
void series_add(struct series *series, int64_t time_ms, int64_t step, const double *values);

struct series_point {
	int64_t time_ms;
	int64_t step;
	double value; /* NAN: there is none */
};

/* The column as at most `points` (at least 1) points, oldest first. Returns how many; the caller
 * frees `*found`. */
size_t series_read(const struct series *series, size_t column, size_t points,
		   struct series_point **found);

/* Of the newest sample; NAN: there is none. */
double series_last(const struct series *series, size_t column);

#endif
