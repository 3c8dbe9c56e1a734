/*
 * A bounded time series: samples of one or several values, each with a time and, where wanted, a
 * step. When it is full, neighbours become one point, and from then on every point stands for twice
 * as many samples; so all of a job's life is there, the coarser the longer it is. A point has the
 * mean of what it stands for, its least and most, and the time and step of the last. The first,
 * last, least and most sample of a whole series are kept exactly.
 */
#ifndef TONY_JOB_SERIES_H
#define TONY_JOB_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SERIES_POINTS_MIN = 32, SERIES_POINTS_MAX = 512 };

struct series;

struct series_shape {
	size_t columns; /* values of a sample; 1 if it is told */
	size_t points;	/* at most so many are kept: even, at least 2 */
	/* A program tells its one value: it has steps, and a value that is NAN was told so, as a
	 * loss that diverges. Else NAN is what is not known. */
	bool is_told;
	/* Each point keeps its least and most; else its mean stands for them. */
	bool has_range;
};

/* The shape that each of `count` series may have in `bytes` of memory, all of them together: never
 * less than SERIES_POINTS_MIN points, without ranges where these would leave less. */
struct series_shape series_share(size_t bytes, size_t count, size_t columns, bool is_told);
size_t series_bytes(const struct series_shape *shape);

struct series *series_create(const struct series_shape *shape);
void series_destroy(struct series *series); /* NULL is fine */

/* Times do not go back: one before that of the last sample is taken for the same. `values` has one
 * of each column. An infinite value counts as NAN. `step` (-1: not said) is of told series. */
void series_add(struct series *series, int64_t time_ms, int64_t step, const double *values);

/* Between the samples so far and the next some are missing. */
void series_break(struct series *series);

struct series_point {
	int64_t time_ms;
	int64_t step;
	double value, least, most; /* NAN: there is none */
	bool has_nan;		   /* one of its samples was told as NAN */
	bool is_after_gap;	   /* samples are missing in it or before it */
};

/* Adds a sample that stands for several, as a point that was read: one of each column, all of the
 * time of the first. */
void series_add_point(struct series *series, const struct series_point *points);

/* The column as at most `points` (at least 1) points, oldest first. Returns how many; the caller
 * frees `*found`. */
size_t series_read(const struct series *series, size_t column, size_t points,
		   struct series_point **found);

/* Makes neighbours one, in place, so that at most `limit` are left. Returns how many. */
size_t series_thin(struct series_point *points, size_t count, size_t limit);

struct series_mark {
	int64_t time_ms;
	int64_t step; /* -1: not said */
	double value; /* NAN: there is none, or as it was told */
};

struct series_facts {
	struct series_mark first, last; /* of a told series also one that was told as NAN */
	struct series_mark least, most;
	int64_t nans; /* so many samples were told as NAN */
	/* Of these the first, and the first of those without a number since; time_ms 0: none. */
	struct series_mark first_nan, nan_since;
};

/* False: the points as series_read() returned them, `count`, are the samples themselves, and have
 * all of the facts. */
bool series_facts(const struct series *series, size_t column, size_t count,
		  struct series_facts *facts);
/* Of a series whose points were restored: the exact ones. A mark whose
 * time is 0 changes nothing. */
void series_restore_facts(struct series *series, size_t column, const struct series_facts *facts);

/* Of the newest sample; NAN: there is none. */
double series_last(const struct series *series, size_t column);

#endif
