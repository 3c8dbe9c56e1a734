/* What rules ask of their input. */
#include <stdlib.h>
#include <string.h>

#include "advise/rules.h"
#include "base/mem.h"

void advise_numbers_add(struct advise_numbers *numbers, double value)
{
	numbers->items =
		mem_realloc_array(numbers->items, numbers->count + 1, sizeof(*numbers->items));
	numbers->items[numbers->count++] = value;
}

void advise_numbers_finish(struct advise_numbers *numbers)
{
	free(numbers->items);
}

static int by_value(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

double advise_percentile(struct advise_numbers *numbers, double percent)
{
	qsort(numbers->items, numbers->count, sizeof(*numbers->items), by_value);
	return numbers->items[(size_t)(percent / 100 * (double)(numbers->count - 1) + 0.5)];
}

/* ---- uses --------------------------------------------------------------------------------- */

const struct advise_use *advise_next_use(const struct advising *advising, size_t type,
					 const struct advise_use *use)
{
	const struct advise_uses *uses = &advising->input->uses;
	size_t next = use ? (size_t)(use - uses->items) + 1 : 0;

	for (; next < uses->count; next++)
		if (advising->view->tasks[uses->items[next].task].type == type)
			return &uses->items[next];
	return NULL;
}

/* Sidecars and servers are stopped when the others have succeeded: that is what is meant for them.
 */
static bool is_whole_run(const struct advising *advising, const struct advise_use *use)
{
	const struct task_view *task = &advising->view->tasks[use->task];

	return use->attempt == task->attempt &&
	       (task->state == TASK_SUCCEEDED ||
		(task->state == TASK_STOPPED && advising->view->state == JOB_SUCCEEDED));
}

static int64_t find_measured_ms(const struct advise_use *use)
{
	return use->to_ms - use->from_ms;
}

static bool is_enough(const struct advising *advising, const struct advise_use *use,
		      const struct advise_enough *enough)
{
	int64_t needed_ms = is_whole_run(advising, use) ? enough->whole_ms : enough->least_ms;

	return use->samples >= enough->samples && find_measured_ms(use) >= needed_ms;
}

bool advise_is_enough(const struct advising *advising, size_t type,
		      const struct advise_enough *enough)
{
	size_t good = 0, last = SIZE_MAX;

	/* A task's uses stand together. */
	for (const struct advise_use *use = NULL; (use = advise_next_use(advising, type, use));) {
		if (use->task == last || !is_enough(advising, use, enough))
			continue;
		last = use->task;
		good++;
	}
	return good > 0 && 2 * good >= (size_t)advising->job->types[type].instances;
}

double advise_mean(const struct advising *advising, size_t type,
		   double (*figure)(const struct advise_use *use))
{
	double sum = 0, weight = 0;

	for (const struct advise_use *use = NULL; (use = advise_next_use(advising, type, use));) {
		double value = figure(use), time = (double)find_measured_ms(use);
		if (value < 0)
			continue;
		sum += value * time;
		weight += time;
	}
	return weight > 0 ? sum / weight : -1;
}

double advise_average_cores(const struct advise_use *use)
{
	return use->average_cores;
}

double advise_average_gpu(const struct advise_use *use)
{
	double sum = 0;

	for (size_t i = 0; i < use->gpu_count; i++)
		sum += use->gpus[i].average_percent;
	return use->gpu_count > 0 ? sum / (double)use->gpu_count : -1;
}

/* ---- the job ------------------------------------------------------------------------------ */

int64_t advise_running_ms(const struct advising *advising)
{
	const struct job_view *view = advising->view;
	int64_t end_ms = view->ended_ms > 0 ? view->ended_ms : advising->input->now_ms;

	return view->running_ms > 0 && end_ms > view->running_ms ? end_ms - view->running_ms : 0;
}

const struct history_type *advise_past_type(const struct advising *advising,
					    const struct history_summary *past, size_t type)
{
	const struct job_type *wanted = &advising->job->types[type];

	if (str_equal(past->id, advising->job->id))
		return NULL;
	for (size_t i = 0; i < past->type_count; i++)
		if (str_equal(past->types[i].name, wanted->name) &&
		    past->types[i].instances == wanted->instances)
			return &past->types[i];
	return NULL;
}

/* ---- incidents ---------------------------------------------------------------------------- */

enum { FALLS_WITH_MS = 30000 };

static int by_end(const void *left, const void *right)
{
	int64_t a = ((const struct incident *)left)->attempt->ended_ms;
	int64_t b = ((const struct incident *)right)->attempt->ended_ms;

	return (a > b) - (a < b);
}

static bool fell_with(const struct incident *incident, const struct incident *before)
{
	return incident->task != before->task && incident->attempt->epoch > 0 &&
	       incident->attempt->epoch == before->attempt->epoch &&
	       incident->attempt->ended_ms - before->attempt->ended_ms < FALLS_WITH_MS;
}

void advise_incidents(const struct advising *advising, struct incidents *incidents)
{
	const struct job_view *view = advising->view;
	size_t count = 0, kept = 0;

	for (size_t i = 0; i < view->task_count; i++)
		count += view->tasks[i].attempt_count;
	struct incident *items = mem_alloc_array(count + 1, sizeof(*items));
	count = 0;
	for (size_t i = 0; i < view->task_count; i++)
		for (size_t k = 0; k < view->tasks[i].attempt_count; k++)
			if (view->tasks[i].attempts[k].cause.kind != CAUSE_NONE)
				items[count++] = (struct incident){i, &view->tasks[i].attempts[k]};
	qsort(items, count, sizeof(*items), by_end);
	for (size_t i = 0; i < count; i++)
		if (kept == 0 || !fell_with(&items[i], &items[kept - 1]))
			items[kept++] = items[i];
	*incidents = (struct incidents){items, kept};
}

void advise_incidents_finish(struct incidents *incidents)
{
	free(incidents->items);
}

size_t advise_count_causes(const struct advising *advising, enum cause_kind kind)
{
	struct incidents incidents cleanup_incidents = {0};
	size_t count = 0;

	advise_incidents(advising, &incidents);
	for (size_t i = 0; i < incidents.count; i++)
		count += incidents.items[i].attempt->cause.kind == kind;
	return count;
}
