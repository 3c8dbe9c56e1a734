#include "job/series_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"

/* ---- writing ------------------------------------------------------------------------------ */

static void write_number(struct str *text, double value, int digits)
{
	if (isnan(value))
		str_append(text, "null");
	else if (value > -1e15 && value < 1e15 && value == (double)(int64_t)value)
		str_append_format(text, "%.0f", value);
	else
		str_append_format(text, "%.*g", digits, value);
}

void series_write_number(struct str *text, double value)
{
	write_number(text, value, 7);
}

enum member { TIME, STEP, VALUE, LEAST, MOST, HAS_NAN, GAP };

static void write_member(struct str *text, const struct series_point *point, enum member member)
{
	switch (member) {
	case TIME:
		str_append_format(text, "%" PRId64, point->time_ms);
		break;
	case STEP:
		str_append_format(text, "%" PRId64, point->step);
		break;
	case VALUE:
		series_write_number(text, point->value);
		break;
	case LEAST:
		series_write_number(text, point->least);
		break;
	case MOST:
		series_write_number(text, point->most);
		break;
	case HAS_NAN:
		str_append(text, point->has_nan ? "true" : "false");
		break;
	case GAP:
		str_append(text, point->is_after_gap ? "true" : "false");
		break;
	}
}

static void write_list(struct str *text, const char *before, const struct series_point *points,
		       size_t count, enum member member)
{
	str_append_format(text, "%s[", before);
	for (size_t i = 0; i < count; i++) {
		str_append(text, i > 0 ? "," : "");
		write_member(text, &points[i], member);
	}
	str_append(text, "]");
}

void series_write_values(struct str *text, const struct series_point *points, size_t count)
{
	write_list(text, "", points, count, VALUE);
}

static void write_mark(struct str *text, const char *before, const struct series_mark *mark,
		       bool is_told)
{
	if (mark->time_ms <= 0 || (isnan(mark->value) && !is_told))
		return;
	str_append_format(text, "%s{\"t\":%" PRId64, before, mark->time_ms);
	if (mark->step >= 0)
		str_append_format(text, ",\"step\":%" PRId64, mark->step);
	str_append(text, ",\"v\":");
	write_number(text, mark->value, 15);
	str_append(text, isnan(mark->value) ? ",\"nan\":true}" : "}");
}

static void write_exact(struct str *text, const struct series_facts *facts, bool is_told)
{
	str_append_format(text, ",\"exact\":{\"nans\":%" PRId64, facts->nans);
	write_mark(text, ",\"first\":", &facts->first, is_told);
	write_mark(text, ",\"last\":", &facts->last, is_told);
	write_mark(text, ",\"least\":", &facts->least, false);
	write_mark(text, ",\"most\":", &facts->most, false);
	write_mark(text, ",\"first_nan\":", &facts->first_nan, is_told);
	write_mark(text, ",\"nan_since\":", &facts->nan_since, is_told);
	str_append(text, "}");
}

void series_write(struct str *text, const struct series_point *points, size_t count,
		  const struct series_form *form)
{
	bool has_range = false, has_nan = false, has_gap = false;

	for (size_t i = 0; i < count; i++) {
		const struct series_point *point = &points[i];
		has_range = has_range || (!isnan(point->value) && (point->least != point->value ||
								   point->most != point->value));
		has_nan = has_nan || point->has_nan;
		has_gap = has_gap || point->is_after_gap;
	}
	write_list(text, "\"t\":", points, count, TIME);
	if (form->is_told)
		write_list(text, ",\"step\":", points, form->has_steps ? count : 0, STEP);
	write_list(text, ",\"v\":", points, count, VALUE);
	if (has_range) {
		write_list(text, ",\"least\":", points, count, LEAST);
		write_list(text, ",\"most\":", points, count, MOST);
	}
	if (has_nan)
		write_list(text, ",\"nan\":", points, count, HAS_NAN);
	if (has_gap)
		write_list(text, ",\"gap\":", points, count, GAP);
	if (form->facts)
		write_exact(text, form->facts, form->is_told);
}

/* ---- reading ------------------------------------------------------------------------------ */

static int64_t parse_whole(const json_t *value)
{
	return json_is_integer(value) && json_integer_value(value) >= 0 ? json_integer_value(value)
									: -1;
}

static double parse_number(const json_t *value, double otherwise)
{
	return json_is_number(value) ? json_number_value(value) : otherwise;
}

size_t series_parse(const json_t *series, struct series_point **points)
{
	const json_t *times = json_object_get(series, "t"),
		     *steps = json_object_get(series, "step");
	const json_t *values = json_object_get(series, "v"), *nans = json_object_get(series, "nan");
	const json_t *least = json_object_get(series, "least"),
		     *most = json_object_get(series, "most"),
		     *gaps = json_object_get(series, "gap");
	size_t count = json_array_size(values);

	*points = mem_alloc_array(count, sizeof(**points));
	for (size_t i = 0; i < count; i++) {
		const double value = parse_number(json_array_get(values, i), NAN);
		(*points)[i] = (struct series_point){
			.time_ms = parse_whole(json_array_get(times, i)),
			.step = parse_whole(json_array_get(steps, i)),
			.value = value,
			.least = parse_number(json_array_get(least, i), value),
			.most = parse_number(json_array_get(most, i), value),
			.has_nan = json_is_true(json_array_get(nans, i)),
			.is_after_gap = json_is_true(json_array_get(gaps, i)),
		};
	}
	return count;
}

static struct series_mark parse_mark(const json_t *exact, const char *name)
{
	const json_t *mark = json_object_get(exact, name);
	const int64_t time_ms = parse_whole(json_object_get(mark, "t"));

	return (struct series_mark){
		.time_ms = time_ms > 0 ? time_ms : 0,
		.step = parse_whole(json_object_get(mark, "step")),
		.value = parse_number(json_object_get(mark, "v"), NAN),
	};
}

bool series_parse_exact(const json_t *series, struct series_facts *facts)
{
	const json_t *exact = json_object_get(series, "exact");
	const int64_t nans = parse_whole(json_object_get(exact, "nans"));

	*facts = (struct series_facts){
		.first = parse_mark(exact, "first"),
		.last = parse_mark(exact, "last"),
		.least = parse_mark(exact, "least"),
		.most = parse_mark(exact, "most"),
		.nans = nans > 0 ? nans : 0,
		.first_nan = parse_mark(exact, "first_nan"),
		.nan_since = parse_mark(exact, "nan_since"),
	};
	return json_is_object(exact);
}

/* As if the points were samples that a program told now. */
static void find_facts(const struct series_point *points, size_t count, struct series_facts *facts)
{
	const struct series_shape shape = {1, (count + 2) / 2 * 2, true, false};
	struct series *series = series_create(&shape);

	for (size_t i = 0; i < count; i++)
		if (!isnan(points[i].value) || points[i].has_nan)
			series_add_point(series, &points[i]);
	series_facts(series, 0, count, facts);
	series_destroy(series);
}

size_t series_parse_facts(const json_t *series, struct series_facts *facts, double *mean)
{
	struct series_point *points cleanup_free = NULL;
	size_t count = series_parse(series, &points), known = 0;

	*mean = 0;
	for (size_t i = 0; i < count; i++) {
		if (isnan(points[i].value))
			continue;
		known++;
		*mean += (points[i].value - *mean) / (double)known;
	}
	if (!series_parse_exact(series, facts))
		find_facts(points, count, facts);
	return known;
}

/* ---- fewer points ------------------------------------------------------------------------- */

void series_thin_object(json_t *series, size_t limit)
{
	struct series_point *points cleanup_free = NULL;
	struct series_facts facts;
	struct str text cleanup_str = {0};
	double mean;
	size_t count = series_parse(series, &points);

	if (count <= limit)
		return;
	series_parse_facts(series, &facts, &mean);
	const struct series_form form = {
		.is_told = json_object_get(series, "step") != NULL,
		.has_steps = json_array_size(json_object_get(series, "step")) == count,
		.facts = &facts,
	};
	str_append(&text, "{");
	series_write(&text, points, series_thin(points, count, limit), &form);
	str_append(&text, "}");
	json_t *thinned cleanup_json = json_parse(text.text, text.length, NULL);
	json_object_update(series, thinned);
}

/* ---- for people --------------------------------------------------------------------------- */

static char *name_moment(const struct series_mark *mark)
{
	char *time cleanup_free = mark->step < 0 ? str_format_time(mark->time_ms) : NULL;

	return time ? mem_steal(&time) : mem_printf("step %" PRId64, mark->step);
}

char *series_nan_words(const struct series_facts *facts)
{
	const bool is_nan = facts->nan_since.time_ms > 0;

	if (facts->nans == 0)
		return NULL;
	char *moment cleanup_free = name_moment(is_nan ? &facts->nan_since : &facts->first_nan);
	if (is_nan)
		return mem_printf("NaN since %s", moment);
	return facts->nans == 1
		       ? mem_printf("NaN at %s", moment)
		       : mem_printf("%" PRId64 " NaN, the first at %s", facts->nans, moment);
}
