#include "am/user_series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "job/series_text.h"

#define BYTES	    ((size_t)32 << 20) /* for all tasks together */
#define USUAL_COUNT 8		       /* of a task's numbers: so many are no matter */

struct row {
	char *name, *run;
	struct series *series;
	bool has_steps; /* every one so far */
};

struct user_series {
	struct user_budget *budget;
	struct row rows[USER_SERIES_MAX];
	size_t count;
	int attempt;
	int64_t taken;
	bool is_full; /* and that was said */
};

struct user_budget user_budget_of(size_t tasks)
{
	return (struct user_budget){.shape = series_share(BYTES, tasks * USUAL_COUNT, 1, true),
				    .left = BYTES};
}

struct user_series *user_series_create(struct user_budget *budget)
{
	struct user_series *series = mem_alloc(sizeof(*series));

	series->budget = budget;
	return series;
}

void user_series_destroy(struct user_series *series)
{
	if (!series)
		return;
	for (size_t i = 0; i < series->count; i++) {
		free(series->rows[i].name);
		free(series->rows[i].run);
		series_destroy(series->rows[i].series);
	}
	free(series);
}

int64_t user_series_taken(const struct user_series *series)
{
	return series->taken;
}

/* ---- adding ------------------------------------------------------------------------------- */

static struct row *new_row(struct user_series *series, const char *name, const char *run)
{
	struct user_budget *budget = series->budget;
	size_t bytes = series_bytes(&budget->shape) + strlen(name) + strlen(run);

	if (series->count == USER_SERIES_MAX || bytes > budget->left) {
		if (!series->is_full)
			log_warning("\"%s\" is one number too many that a program tells of itself: "
				    "it is not kept",
				    name);
		series->is_full = true;
		return NULL;
	}
	budget->left -= bytes;
	struct row *row = &series->rows[series->count++];
	*row = (struct row){.name = mem_strdup(name),
			    .run = mem_strdup(run),
			    .series = series_create(&budget->shape),
			    .has_steps = true};
	return row;
}

static struct row *find_row(struct user_series *series, const char *name, const char *run)
{
	for (size_t i = 0; i < series->count; i++)
		if (strcmp(series->rows[i].name, name) == 0 &&
		    strcmp(series->rows[i].run, run) == 0)
			return &series->rows[i];
	return new_row(series, name, run);
}

static void add(struct user_series *series, const struct number *number)
{
	struct row *row = find_row(series, number->name, number->run);

	if (!row)
		return;
	if (number->step < 0)
		row->has_steps = false;
	series_add(row->series, number->time_ms, number->step, &number->value);
}

/* Another container is not asked for what the one before had not sent yet. */
static void break_rows(struct user_series *series)
{
	for (size_t i = 0; i < series->count; i++)
		series_break(series->rows[i].series);
}

size_t user_series_add(struct user_series *series, int attempt, const struct number_list *numbers)
{
	size_t known = 0;

	if (attempt != series->attempt || numbers->from > series->taken)
		break_rows(series);
	if (attempt != series->attempt) {
		series->attempt = attempt;
		series->taken = 0;
	}
	while (known < numbers->count && numbers->from + (int64_t)known < series->taken)
		known++;
	for (size_t i = known; i < numbers->count; i++)
		add(series, &numbers->items[i]);
	if (numbers->from + (int64_t)numbers->count > series->taken)
		series->taken = numbers->from + (int64_t)numbers->count;
	return known;
}

/* ---- an AM that follows another ----------------------------------------------------------- */

json_t *user_series_to_resume(const struct user_series *series)
{
	json_t *object = json_object();

	json_set_int(object, "attempt", series->attempt);
	json_set_int(object, "count", series->taken);
	return object;
}

static void restore_points(struct row *row, const json_t *object, int64_t now_ms)
{
	struct series_point *points cleanup_free = NULL;
	size_t count = series_parse(object, &points);

	for (size_t i = 0; i < count; i++) {
		const struct series_point *point = &points[i];
		if (point->time_ms < 0 || point->time_ms > now_ms ||
		    (isnan(point->value) && !point->has_nan))
			continue;
		if (point->step < 0)
			row->has_steps = false;
		series_add_point(row->series, point);
	}
}

static void restore_row(struct user_series *series, const json_t *object, int64_t now_ms)
{
	const char *name = json_string_value(json_object_get(object, "name"));
	const char *run = json_string_value(json_object_get(object, "run"));
	struct series_facts exact;

	if (!number_is_name(name, 1) || !number_is_name(run, 0))
		return;
	struct row *row = find_row(series, name, run);
	if (!row)
		return;
	restore_points(row, object, now_ms);
	if (series_parse_exact(object, &exact))
		series_restore_facts(row->series, 0, &exact);
}

void user_series_restore(struct user_series *series, const json_t *line, int64_t now_ms)
{
	const json_t *numbers = json_object_get(line, "numbers");
	int64_t attempt = 0, count = 0;
	size_t i;
	json_t *row;

	json_array_foreach(json_object_get(line, "user"), i, row)
	{
		restore_row(series, row, now_ms);
	}
	if (json_need_int(numbers, "attempt", 0, INT32_MAX, &attempt, NULL) < 0 ||
	    json_need_int(numbers, "count", 0, INT64_MAX, &count, NULL) < 0)
		return;
	series->attempt = (int)attempt;
	series->taken = count;
}

/* ---- telling ------------------------------------------------------------------------------ */

bool user_series_last(const struct user_series *series, const char *name, double *last)
{
	for (size_t i = 0; i < series->count; i++) {
		if (!str_equal(series->rows[i].name, name))
			continue;
		*last = series_last(series->rows[i].series, 0);
		return true;
	}
	return false;
}

static void append_quoted(struct str *text, const char *value)
{
	json_t *json cleanup_json = json_string(value);
	char *quoted cleanup_free = json_dumps(json, JSON_ENCODE_ANY);

	str_append(text, quoted);
}

static void write_row(const struct row *row, size_t limit, struct str *text)
{
	struct series_point *points cleanup_free = NULL;
	size_t count = series_read(row->series, 0, limit, &points);
	struct series_facts facts;
	bool has_more = series_facts(row->series, 0, count, &facts);
	const struct series_form form = {
		.is_told = true, .has_steps = row->has_steps, .facts = has_more ? &facts : NULL};

	str_append(text, "{\"name\":");
	append_quoted(text, row->name);
	str_append(text, ",\"run\":");
	append_quoted(text, row->run);
	str_append(text, ",");
	series_write(text, points, count, &form);
	str_append(text, "}");
}

void user_series_write(const struct user_series *series, size_t points, struct str *text)
{
	str_append(text, "[");
	for (size_t i = 0; i < series->count; i++) {
		str_append(text, i > 0 ? "," : "");
		write_row(&series->rows[i], points, text);
	}
	str_append(text, "]");
}
