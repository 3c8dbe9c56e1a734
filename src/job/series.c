#include "job/series.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum mark { FIRST, LAST, LEAST, MOST, MARKS };

/* Of a point. */
enum { HAS_NAN = 1, AFTER_GAP = 2 };

struct column {
	/* Of the samples that are not yet enough for a point. */
	double sum;
	uint32_t count; /* that went into it */
	float least, most;
	struct {
		int64_t time_ms;
		double value; /* NAN: there is none */
	} marks[MARKS];
};

struct moment {
	int64_t time_ms, step;
};

struct told {
	int64_t steps[MARKS];
	int64_t nans;
	struct moment first_nan, nan_since;
};

struct range {
	float least, most;
};

struct series {
	struct series_shape shape;
	size_t count;  /* points */
	size_t stride; /* samples that a point stands for */
	bool is_thinned;
	int64_t *times;
	int64_t *steps;	      /* NULL: it is not told */
	float *values;	      /* of each point, all columns */
	struct range *ranges; /* likewise; NULL: without */
	uint8_t *flags;
	struct column *columns;
	struct told *told; /* NULL: it is not */
	size_t waiting;	   /* samples that are not yet enough for a point, */
	uint8_t waiting_flags;
	bool is_broken; /* before the next */
	int64_t last_time, last_step;
};

static void create_columns(struct series *series)
{
	series->columns = mem_alloc_array(series->shape.columns, sizeof(*series->columns));
	for (size_t i = 0; i < series->shape.columns; i++)
		for (int k = 0; k < MARKS; k++)
			series->columns[i].marks[k].value = NAN;
}

struct series *series_create(const struct series_shape *shape)
{
	struct series *series = mem_alloc(sizeof(*series));
	const size_t points = shape->points, values = points * shape->columns;

	series->shape = *shape;
	series->stride = 1;
	series->times = mem_alloc_array(points, sizeof(*series->times));
	series->values = mem_alloc_array(values, sizeof(*series->values));
	series->flags = mem_alloc_array(points, sizeof(*series->flags));
	if (shape->has_range)
		series->ranges = mem_alloc_array(values, sizeof(*series->ranges));
	if (shape->is_told) {
		series->steps = mem_alloc_array(points, sizeof(*series->steps));
		series->told = mem_alloc(sizeof(*series->told));
	}
	series->last_time = INT64_MIN;
	create_columns(series);
	return series;
}

void series_destroy(struct series *series)
{
	if (!series)
		return;
	free(series->times);
	free(series->steps);
	free(series->values);
	free(series->ranges);
	free(series->flags);
	free(series->columns);
	free(series->told);
	free(series);
}

/* ---- memory ------------------------------------------------------------------------------- */

static size_t point_bytes(const struct series_shape *shape)
{
	size_t value = sizeof(float) + (shape->has_range ? sizeof(struct range) : 0);

	return sizeof(int64_t) * (shape->is_told ? 2 : 1) + 1 + shape->columns * value;
}

size_t series_bytes(const struct series_shape *shape)
{
	return sizeof(struct series) + shape->points * point_bytes(shape) +
	       shape->columns * sizeof(struct column) + (shape->is_told ? sizeof(struct told) : 0);
}

static size_t count_points(size_t bytes, const struct series_shape *shape)
{
	const struct series_shape empty = {shape->columns, 0, shape->is_told, shape->has_range};
	size_t used = series_bytes(&empty);

	return bytes > used ? (bytes - used) / point_bytes(shape) / 2 * 2 : 0;
}

struct series_shape series_share(size_t bytes, size_t count, size_t columns, bool is_told)
{
	struct series_shape shape = {columns, 0, is_told, true};
	size_t share = bytes / (count > 0 ? count : 1), points = count_points(share, &shape);

	if (points < SERIES_POINTS_MIN) {
		shape.has_range = false;
		points = count_points(share, &shape);
	}
	shape.points = points < SERIES_POINTS_MIN   ? SERIES_POINTS_MIN
		       : points > SERIES_POINTS_MAX ? SERIES_POINTS_MAX
						    : points;
	return shape;
}

/* ---- points ------------------------------------------------------------------------------- */

/* Each stands for as many samples. */
static struct series_point merge(const struct series_point *points, size_t count)
{
	struct series_point merged = {.value = NAN, .least = NAN, .most = NAN};
	double sum = 0;
	size_t known = 0;

	for (size_t i = 0; i < count; i++) {
		const struct series_point *point = &points[i];
		merged.time_ms = point->time_ms;
		merged.step = point->step;
		merged.has_nan |= point->has_nan;
		merged.is_after_gap |= point->is_after_gap;
		if (isnan(point->value))
			continue;
		sum += point->value;
		known++;
		merged.least = fmin(merged.least, point->least);
		merged.most = fmax(merged.most, point->most);
	}
	if (known > 0)
		merged.value = sum / (double)known;
	return merged;
}

size_t series_thin(struct series_point *points, size_t count, size_t limit)
{
	size_t width = (count + limit - 1) / limit, left = 0;

	if (width <= 1)
		return count;
	for (size_t begin = 0; begin < count; begin += width)
		points[left++] =
			merge(&points[begin], count - begin < width ? count - begin : width);
	return left;
}

static struct series_point get_point(const struct series *series, size_t i, size_t column)
{
	const size_t place = i * series->shape.columns + column;
	const double value = series->values[place];

	return (struct series_point){
		.time_ms = series->times[i],
		.step = series->steps ? series->steps[i] : 0,
		.value = value,
		.least = series->ranges ? series->ranges[place].least : value,
		.most = series->ranges ? series->ranges[place].most : value,
		.has_nan = series->flags[i] & HAS_NAN,
		.is_after_gap = series->flags[i] & AFTER_GAP,
	};
}

static void set_point(struct series *series, size_t i, size_t column,
		      const struct series_point *point)
{
	const size_t place = i * series->shape.columns + column;

	series->times[i] = point->time_ms;
	if (series->steps)
		series->steps[i] = point->step;
	series->values[place] = (float)point->value;
	if (series->ranges)
		series->ranges[place] = (struct range){(float)point->least, (float)point->most};
	series->flags[i] =
		(uint8_t)((point->has_nan ? HAS_NAN : 0) | (point->is_after_gap ? AFTER_GAP : 0));
}

/* Of the samples that are not yet enough for one. */
static struct series_point waiting_point(const struct series *series, size_t column)
{
	const struct column *of = &series->columns[column];

	return (struct series_point){
		.time_ms = series->last_time,
		.step = series->last_step,
		.value = of->count > 0 ? of->sum / of->count : NAN,
		.least = of->count > 0 ? (double)of->least : NAN,
		.most = of->count > 0 ? (double)of->most : NAN,
		.has_nan = series->waiting_flags & HAS_NAN,
		.is_after_gap = series->waiting_flags & AFTER_GAP,
	};
}

/* ---- adding ------------------------------------------------------------------------------- */

/* Each two points become one. */
static void halve(struct series *series)
{
	for (size_t i = 0; i < series->count / 2; i++) {
		/* Flags are of all columns: those of the two are read before one is written. */
		const uint8_t flags = series->flags[2 * i] | series->flags[2 * i + 1];
		for (size_t k = 0; k < series->shape.columns; k++) {
			const struct series_point two[] = {get_point(series, 2 * i, k),
							   get_point(series, 2 * i + 1, k)};
			const struct series_point one = merge(two, array_length(two));
			set_point(series, i, k, &one);
		}
		series->flags[i] = flags;
	}
	series->count /= 2;
	series->stride *= 2;
	series->is_thinned = true;
}

static void end_point(struct series *series)
{
	for (size_t k = 0; k < series->shape.columns; k++) {
		const struct series_point point = waiting_point(series, k);
		set_point(series, series->count, k, &point);
		series->columns[k].sum = 0;
		series->columns[k].count = 0;
	}
	series->waiting = 0;
	series->waiting_flags = 0;
	series->count++;
}

static void set_mark(struct series *series, size_t column, enum mark mark, double value)
{
	series->columns[column].marks[mark].time_ms = series->last_time;
	series->columns[column].marks[mark].value = value;
	if (series->told)
		series->told->steps[mark] = series->last_step;
}

static void note_nan(struct series *series, bool is_whole)
{
	const struct moment now = {series->last_time, series->last_step};
	struct told *told = series->told;

	if (told->nans++ == 0)
		told->first_nan = now;
	if (is_whole && told->nan_since.time_ms == 0)
		told->nan_since = now;
	series->waiting_flags |= HAS_NAN;
}

/* A point has 32 bits a number. */
static float narrow(double value)
{
	return (float)fmax(-(double)FLT_MAX, fmin((double)FLT_MAX, value));
}

static void add_known(struct series *series, size_t column, const struct series_point *point)
{
	struct column *of = &series->columns[column];
	const float least = narrow(point->least), most = narrow(point->most);

	of->least = of->count > 0 ? fminf(of->least, least) : least;
	of->most = of->count > 0 ? fmaxf(of->most, most) : most;
	of->sum += (double)narrow(point->value);
	of->count++;
	if (!(of->marks[LEAST].value <= point->least))
		set_mark(series, column, LEAST, point->least);
	if (!(of->marks[MOST].value >= point->most))
		set_mark(series, column, MOST, point->most);
}

static void add_sample(struct series *series, size_t column, const struct series_point *point,
		       bool is_first)
{
	const bool is_known = isfinite(point->value);
	const double value = is_known ? point->value : NAN;

	if (series->told && (point->has_nan || !is_known))
		note_nan(series, !is_known);
	if (is_known && series->told)
		series->told->nan_since = (struct moment){0};
	if (!is_known && !series->told)
		return;
	if (series->told ? is_first : isnan(series->columns[column].marks[FIRST].value))
		set_mark(series, column, FIRST, value);
	set_mark(series, column, LAST, value);
	if (is_known)
		add_known(series, column, point);
}

static bool is_empty(const struct series *series)
{
	return series->last_time == INT64_MIN;
}

void series_add_point(struct series *series, const struct series_point *points)
{
	const bool is_first = is_empty(series);

	/* As late as it can be: the samples of the next point stay whole. */
	if (series->count == series->shape.points && series->waiting == 0)
		halve(series);
	if (points->time_ms > series->last_time)
		series->last_time = points->time_ms;
	series->last_step = points->step;
	if (series->is_broken || points->is_after_gap)
		series->waiting_flags |= AFTER_GAP;
	series->is_broken = false;
	for (size_t k = 0; k < series->shape.columns; k++)
		add_sample(series, k, &points[k], is_first);
	if (++series->waiting >= series->stride)
		end_point(series);
}

void series_add(struct series *series, int64_t time_ms, int64_t step, const double *values)
{
	struct series_point *points cleanup_free =
		mem_alloc_array(series->shape.columns, sizeof(*points));

	for (size_t k = 0; k < series->shape.columns; k++)
		points[k] = (struct series_point){.time_ms = time_ms,
						  .step = step,
						  .value = values[k],
						  .least = values[k],
						  .most = values[k]};
	series_add_point(series, points);
}

void series_break(struct series *series)
{
	series->is_broken = !is_empty(series);
}

/* ---- reading ------------------------------------------------------------------------------ */

size_t series_read(const struct series *series, size_t column, size_t points,
		   struct series_point **found)
{
	const size_t count = series->count + (series->waiting > 0);

	*found = mem_alloc_array(count, sizeof(**found));
	for (size_t i = 0; i < series->count; i++)
		(*found)[i] = get_point(series, i, column);
	if (series->waiting > 0)
		(*found)[series->count] = waiting_point(series, column);
	return series_thin(*found, count, points);
}

static struct series_mark get_mark(const struct series *series, size_t column, enum mark mark)
{
	const struct column *of = &series->columns[column];

	return (struct series_mark){.time_ms = of->marks[mark].time_ms,
				    .step = series->told ? series->told->steps[mark] : -1,
				    .value = of->marks[mark].value};
}

static struct series_mark nan_mark(struct moment moment)
{
	return (struct series_mark){moment.time_ms, moment.step, NAN};
}

bool series_facts(const struct series *series, size_t column, size_t count,
		  struct series_facts *facts)
{
	*facts = (struct series_facts){.first = get_mark(series, column, FIRST),
				       .last = get_mark(series, column, LAST),
				       .least = get_mark(series, column, LEAST),
				       .most = get_mark(series, column, MOST)};
	if (series->told) {
		facts->nans = series->told->nans;
		facts->first_nan = nan_mark(series->told->first_nan);
		facts->nan_since = nan_mark(series->told->nan_since);
	}
	return series->is_thinned || count < series->count + (series->waiting > 0);
}

static void restore_mark(struct series *series, size_t column, enum mark mark,
			 const struct series_mark *found)
{
	if (found->time_ms <= 0)
		return;
	series->columns[column].marks[mark].time_ms = found->time_ms;
	series->columns[column].marks[mark].value = found->value;
	if (series->told)
		series->told->steps[mark] = found->step;
}

void series_restore_facts(struct series *series, size_t column, const struct series_facts *facts)
{
	restore_mark(series, column, FIRST, &facts->first);
	restore_mark(series, column, LAST, &facts->last);
	restore_mark(series, column, LEAST, &facts->least);
	restore_mark(series, column, MOST, &facts->most);
	series->is_thinned = true;
	if (!series->told)
		return;
	series->told->nans = facts->nans;
	series->told->first_nan = (struct moment){facts->first_nan.time_ms, facts->first_nan.step};
	series->told->nan_since = (struct moment){facts->nan_since.time_ms, facts->nan_since.step};
}

double series_last(const struct series *series, size_t column)
{
	const struct column *of = &series->columns[column];

	return of->marks[LAST].time_ms == series->last_time ? of->marks[LAST].value : NAN;
}
