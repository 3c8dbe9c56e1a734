#include "job/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* The samples that are not yet enough for a point. */
struct bucket {
	size_t samples;
	double *sums;	/* by column */
	size_t *counts; /* that went into each */
};

struct series {
	size_t columns, capacity, count;
	size_t stride; /* samples that a point stands for */
	int64_t *times;
	int64_t *steps; /* NULL: without */
	float *values;	/* of each point, all columns */
	struct bucket bucket;
	int64_t last_time, last_step;
	float *last;
};

struct series *series_create(size_t columns, size_t points, bool with_steps)
{
	struct series *series = mem_alloc(sizeof(*series));

	series->columns = columns;
	series->capacity = points;
	series->stride = 1;
	series->times = mem_alloc_array(points, sizeof(*series->times));
	if (with_steps)
		series->steps = mem_alloc_array(points, sizeof(*series->steps));
	series->values = mem_alloc_array(points * columns, sizeof(*series->values));
	series->bucket.sums = mem_alloc_array(columns, sizeof(*series->bucket.sums));
	series->bucket.counts = mem_alloc_array(columns, sizeof(*series->bucket.counts));
	series->last = mem_alloc_array(columns, sizeof(*series->last));
	series->last_time = INT64_MIN;
	for (size_t i = 0; i < columns; i++)
		series->last[i] = NAN;
	return series;
}

void series_destroy(struct series *series)
{
	if (!series)
		return;
	free(series->times);
	free(series->steps);
	free(series->values);
	free(series->bucket.sums);
	free(series->bucket.counts);
	free(series->last);
	free(series);
}

static size_t point_bytes(size_t columns, bool with_steps)
{
	return sizeof(int64_t) * (with_steps ? 2 : 1) + columns * sizeof(float);
}

size_t series_bytes(size_t columns, size_t points, bool with_steps)
{
	return sizeof(struct series) + points * point_bytes(columns, with_steps) +
	       columns * (sizeof(double) + sizeof(size_t) + sizeof(float));
}

size_t series_share(size_t bytes, size_t count, size_t columns, bool with_steps)
{
	size_t points = bytes / (count > 0 ? count : 1) / point_bytes(columns, with_steps);

	if (points < SERIES_POINTS_MIN)
		return SERIES_POINTS_MIN;
	return points < SERIES_POINTS_MAX ? points / 2 * 2 : SERIES_POINTS_MAX;
}

/* ---- adding ------------------------------------------------------------------------------- */

static float mean_of(float a, float b)
{
	if (isnan(a))
		return b;
	return isnan(b) ? a : a + (b - a) / 2;
}

/* Each two points become one. */
static void halve(struct series *series)
{
	const size_t columns = series->columns;

	for (size_t i = 0; i < series->count / 2; i++) {
		const float *a = &series->values[2 * i * columns], *b = a + columns;
		series->times[i] = series->times[2 * i + 1];
		if (series->steps)
			series->steps[i] = series->steps[2 * i + 1];
		for (size_t k = 0; k < columns; k++)
			series->values[i * columns + k] = mean_of(a[k], b[k]);
	}
	series->count /= 2;
	series->stride *= 2;
}

static float bucket_value(const struct bucket *bucket, size_t column)
{
	size_t count = bucket->counts[column];

	return count > 0 ? (float)(bucket->sums[column] / (double)count) : NAN;
}

static void add_point(struct series *series)
{
	struct bucket *bucket = &series->bucket;

	series->times[series->count] = series->last_time;
	if (series->steps)
		series->steps[series->count] = series->last_step;
	for (size_t k = 0; k < series->columns; k++) {
		series->values[series->count * series->columns + k] = bucket_value(bucket, k);
		bucket->sums[k] = 0;
		bucket->counts[k] = 0;
	}
	bucket->samples = 0;
	series->count++;
}

void series_add(struct series *series, int64_t time_ms, int64_t step, const double *values)
{
	struct bucket *bucket = &series->bucket;

	/* As late as it can be: the samples of the bucket stay whole. */
	if (series->count == series->capacity && bucket->samples == 0)
		halve(series);
	if (time_ms > series->last_time)
		series->last_time = time_ms;
	series->last_step = step;
	for (size_t k = 0; k < series->columns; k++) {
		series->last[k] = (float)values[k];
		/* What no float holds would be no number of JSON's. */
		if (!isfinite(series->last[k])) {
			series->last[k] = NAN;
			continue;
		}
		bucket->sums[k] += values[k];
		bucket->counts[k]++;
	}
	if (++bucket->samples >= series->stride)
		add_point(series);
}

/* ---- reading ------------------------------------------------------------------------------ */

/* A point, or behind the last one what will be the next. */
static struct series_point point_at(const struct series *series, size_t i, size_t column)
{
	if (i == series->count)
		return (struct series_point){.time_ms = series->last_time,
					     .step = series->last_step,
					     .value = bucket_value(&series->bucket, column)};
	return (struct series_point){.time_ms = series->times[i],
				     .step = series->steps ? series->steps[i] : 0,
				     .value = series->values[i * series->columns + column]};
}

static struct series_point merge(const struct series *series, size_t begin, size_t end,
				 size_t column)
{
	struct series_point point = {0};
	double sum = 0;
	size_t count = 0;

	for (size_t i = begin; i < end; i++) {
		point = point_at(series, i, column);
		if (isnan(point.value))
			continue;
		sum += point.value;
		count++;
	}
	point.value = count > 0 ? sum / (double)count : NAN;
	return point;
}

size_t series_read(const struct series *series, size_t column, size_t points,
		   struct series_point **found)
{
	size_t all = series->count + (series->bucket.samples > 0);
	size_t width = (all + points - 1) / points, count = 0;

	*found = mem_alloc_array(points < all ? points : all, sizeof(**found));
	for (size_t begin = 0; begin < all; begin += width) {
		size_t end = begin + width < all ? begin + width : all;
		(*found)[count++] = merge(series, begin, end, column);
	}
	return count;
}

double series_last(const struct series *series, size_t column)
{
	return series->last[column];
}
