/* Tasks that the others wait for. */
#include <math.h>
#include <stdlib.h>

#include "advise/rules.h"
#include "base/mem.h"
#include "job/straggler.h"

enum {
	MINUTE_MS = 60000,
	POINTS_MIN = 20, /* of a task's steps */
	NAMED_MAX = 3,	 /* of several stragglers */
};
#define LATE_LEAST_MS (5 * MINUTE_MS)

/* Steps per second of the task's last container; -1: not known. */
static double step_rate(const struct advise_use *use)
{
	double steps = 0, ms = 0;
	size_t points = 0;

	for (size_t i = 0; i < use->stretch_count; i++) {
		const struct advise_stretch *stretch = &use->stretches[i];
		steps += (double)(stretch->last_step - stretch->first_step);
		ms += (double)(stretch->last_ms - stretch->first_ms);
		points += stretch->points;
	}
	return points >= POINTS_MIN && ms >= LATE_LEAST_MS ? 1000 * steps / ms : -1;
}

/* The last one of the task; uses are in the order of tasks. */
static const struct advise_use *use_of(const struct advising *advising, size_t task)
{
	const struct advise_uses *uses = &advising->input->uses;
	size_t low = 0, high = uses->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (uses->items[middle].task <= task)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && uses->items[low - 1].task == task ? &uses->items[low - 1] : NULL;
}

static double rate_of(const struct advising *advising, size_t task)
{
	const struct advise_use *use = use_of(advising, task);

	return use ? step_rate(use) : -1;
}

/* How much of its work in a ms, since each has as much. Only of a program that went through in one
 * go. */
static double pace_of(const struct advising *advising, size_t task)
{
	const struct task_view *row = &advising->view->tasks[task];

	return row->state == TASK_SUCCEEDED && row->started_ms > 0 && row->attempt_count == 1
		       ? 1 / (double)(row->ended_ms - row->started_ms)
		       : -1;
}

/* A figure of each task of a type. */
struct rows {
	struct straggler_row *items;
	size_t count;
	size_t lagging; /* of the first ones */
	double median;
};

/* Of all of the type's tasks that are wanted, or none. */
static struct rows rows_of(const struct advising *advising, size_t type,
			   double (*figure)(const struct advising *advising, size_t task))
{
	struct rows rows = {
		.items = mem_alloc_array(advising->view->task_count, sizeof(*rows.items))};

	for (size_t i = 0; i < advising->view->task_count; i++) {
		if (advising->view->tasks[i].type != type || advising->view->tasks[i].dormant)
			continue;
		double value = figure(advising, i);
		if (value <= 0) {
			rows.count = 0;
			return rows;
		}
		rows.items[rows.count++] = (struct straggler_row){i, value, false};
	}
	rows.lagging = straggler_find(rows.items, rows.count, &straggler_pace, &rows.median);
	return rows;
}

/* What else is unlike its siblings. */
static void tell_cores(struct advice *advice, const struct advising *advising, size_t type,
		       size_t task)
{
	struct advise_numbers others cleanup_numbers = {0};
	const struct advise_use *own = use_of(advising, task);

	for (const struct advise_use *use = NULL; (use = advise_next_use(advising, type, use));)
		if (use->task != task && use->average_cores >= 0)
			advise_numbers_add(&others, use->average_cores);
	if (own && own->average_cores >= 0 && others.count > 0)
		advice_evidence(advice, "it used %.1f cores on average, the others %.1f",
				own->average_cores, advise_percentile(&others, 50));
}

static struct advice *begin(struct advising *advising, size_t task)
{
	const struct task_view *row = &advising->view->tasks[task];
	const char *type = advising->job->types[row->type].name;
	const char *host = row->host ? row->host : "its node";
	struct advice *advice = advice_begin(advising, "%s:%d on %s is slower than the others",
					     type, row->index, host);

	advice_type(advice, advising, row->type);
	advice_remedy(advice,
		      "If %s is slow in other jobs as well, have it looked at; if it is not, see "
		      "whether %s:%d was given more to do.",
		      host, type, row->index);
	return advice;
}

static void tell_others(struct advice *advice, const struct advising *advising,
			const struct rows *rows)
{
	struct str_list names cleanup_str_list = {0};

	for (size_t i = 1; i < rows->lagging && i <= NAMED_MAX; i++) {
		const struct task_view *row = &advising->view->tasks[rows->items[i].task];
		str_list_add_format(&names, "%s:%d on %s", advising->job->types[row->type].name,
				    row->index, row->host ? row->host : "its node");
	}
	if (rows->lagging > 1 + NAMED_MAX)
		str_list_add_format(&names, "%zu more", rows->lagging - 1 - NAMED_MAX);
	if (names.count > 0) {
		char *list cleanup_free = str_list_join(&names, ", ");
		advice_evidence(advice, "so are %s", list);
	}
}

static bool look_at_rates(struct advising *advising, size_t type)
{
	struct rows rows = rows_of(advising, type, rate_of);

	if (rows.lagging > 0) {
		struct advice *advice = begin(advising, rows.items[0].task);
		advice_evidence(advice, "it made %.2f steps per second, the others %.2f",
				rows.items[0].value, rows.median);
		tell_cores(advice, advising, type, rows.items[0].task);
		tell_others(advice, advising, &rows);
	}
	free(rows.items);
	return rows.lagging > 0;
}

static void look_at_durations(struct advising *advising, size_t type)
{
	struct rows rows = rows_of(advising, type, pace_of);

	if (rows.lagging > 0) {
		double own_ms = 1 / rows.items[0].value, median_ms = 1 / rows.median;
		char *own cleanup_free = str_format_duration(llround(own_ms));
		char *others cleanup_free = str_format_duration(llround(median_ms));
		if (own_ms - median_ms >= LATE_LEAST_MS) {
			struct advice *advice = begin(advising, rows.items[0].task);
			advice_evidence(advice, "it took %s, the others %s", own, others);
			tell_cores(advice, advising, type, rows.items[0].task);
			tell_others(advice, advising, &rows);
		}
	}
	free(rows.items);
}

void rule_straggler(struct advising *advising)
{
	for (size_t i = 0; i < advising->job->type_count; i++)
		if (!look_at_rates(advising, i))
			look_at_durations(advising, i);
}
