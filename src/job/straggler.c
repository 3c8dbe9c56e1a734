#include "job/straggler.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

enum {
	SIBLINGS_MIN = 4, /* of fewer nobody can say which is the odd one */
	FEW = 10,	  /* one of so many may be below what is normal, and always one */
};

const struct straggler_gap straggler_pace = {0.7, 0.85};

/* ---- one figure --------------------------------------------------------------------------- */

static int by_value(const void *left, const void *right)
{
	double a = ((const struct straggler_row *)left)->value;
	double b = ((const struct straggler_row *)right)->value;

	return (a > b) - (a < b);
}

/* Of the first `count` rows, which are sorted, those that lag to the front. */
static size_t part(struct straggler_row *rows, size_t count, double limit)
{
	size_t lagging = 0;

	for (size_t i = 0; i < count; i++) {
		const struct straggler_row row = rows[i];
		if (row.value > limit && !row.lagged)
			continue;
		rows[i] = rows[lagging];
		rows[lagging++] = row;
	}
	return lagging;
}

size_t straggler_find(struct straggler_row *rows, size_t count, const struct straggler_gap *gap,
		      double *median)
{
	size_t few = count / FEW > 1 ? count / FEW : 1, below = 0;

	if (count < SIBLINGS_MIN)
		return 0;
	qsort(rows, count, sizeof(*rows), by_value);
	*median = rows[count / 2].value;
	while (below < count && rows[below].value < gap->normal * *median)
		below++;
	return below <= few ? part(rows, below, gap->lag * *median) : 0;
}

/* ---- what is known of running tasks ------------------------------------------------------- */

static double get_step(const struct straggler_signs *signs)
{
	return signs->step;
}

static double get_step_before(const struct straggler_signs *signs)
{
	return signs->step_before;
}

static double get_rate(const struct straggler_signs *signs)
{
	return signs->steps_made / signs->seconds;
}

static double get_steps_made(const struct straggler_signs *signs)
{
	return signs->steps_made;
}

static double get_gpu(const struct straggler_signs *signs)
{
	return signs->gpu_percent;
}

static double get_cpu(const struct straggler_signs *signs)
{
	return signs->cpu_percent;
}

typedef double figure(const struct straggler_signs *signs);

static const struct straggler_gap use = {0.5, 0.75};

/* In this order: the first that finds a task to lag is told. */
static const struct measure {
	const char *name, *format;
	figure *get;
	/* The median task has so much of it, at least: of less the grain would decide. */
	figure *get_amount;
	double amount_min;
	const struct straggler_gap *gap;
} measures[STRAGGLER_KIND_COUNT] = {
	[STRAGGLER_NONE] = {.name = ""},
	[STRAGGLER_STEP] = {"step", "%s is at step %.0f, its siblings at %.0f", get_step, get_step,
			    10, &straggler_pace},
	[STRAGGLER_RATE] = {"rate", "%s makes %.2f steps per second, its siblings %.2f", get_rate,
			    get_steps_made, 10, &straggler_pace},
	[STRAGGLER_GPU] = {"gpu", "%s uses %.0f%% of its GPUs, its siblings %.0f%%", get_gpu,
			   get_gpu, 20, &use},
	[STRAGGLER_CPU] = {"cpu", "%s uses %.0f%% of a core, its siblings %.0f%%", get_cpu, get_cpu,
			   20, &use},
};

const char *straggler_kind_name(enum straggler_kind kind)
{
	return measures[kind].name;
}

char *straggler_text(const struct straggler *straggler, const char *task)
{
	return mem_printf(measures[straggler->kind].format, task, straggler->own,
			  straggler->others);
}

struct look {
	const struct straggler_signs *signs;
	size_t count;
	const struct straggler *before;
	struct straggler_row *rows; /* room for all */
};

/* The rows of those of whom it is known. 0: of too few to say anything of the type. */
static size_t fill(const struct look *look, figure *get)
{
	size_t count = 0, known = 0, running = 0;

	for (size_t i = 0; i < look->count; i++) {
		const double value = get(&look->signs[i]);
		running += look->signs[i].runs;
		if (isnan(value))
			continue;
		known += look->signs[i].runs;
		look->rows[count++] =
			(struct straggler_row){i, value, look->before[i].kind != STRAGGLER_NONE};
	}
	return 4 * known >= 3 * running ? count : 0;
}

static void mark(const struct look *look, enum straggler_kind kind, struct straggler *found)
{
	const struct measure *measure = &measures[kind];
	const size_t count = fill(look, measure->get);
	double median = 0;
	const size_t lagging = straggler_find(look->rows, count, measure->gap, &median);

	if (lagging == 0 ||
	    measure->get_amount(&look->signs[look->rows[count / 2].task]) < measure->amount_min)
		return;
	for (size_t i = 0; i < lagging; i++) {
		const struct straggler_row *row = &look->rows[i];
		if (look->signs[row->task].runs && found[row->task].kind == STRAGGLER_NONE)
			found[row->task] = (struct straggler){kind, row->value, median};
	}
}

/* Who is behind for a moment only may have waited for data. */
static void pass_over_the_new(const struct look *look, struct straggler *found)
{
	struct straggler_row *rows = look->rows;
	double median;
	const size_t lagging =
		straggler_find(rows, fill(look, get_step_before), &straggler_pace, &median);
	bool *lagged cleanup_free = mem_alloc_array(look->count, sizeof(*lagged));

	for (size_t i = 0; i < lagging; i++)
		lagged[rows[i].task] = true;
	for (size_t i = 0; i < look->count; i++)
		if (found[i].kind == STRAGGLER_STEP && !lagged[i])
			found[i] = (struct straggler){0};
}

void straggler_look(const struct straggler_signs *signs, size_t count, struct straggler *found)
{
	struct straggler *before cleanup_free = mem_alloc_array(count, sizeof(*before));
	struct straggler_row *rows cleanup_free = mem_alloc_array(count, sizeof(*rows));
	struct look look = {signs, count, before, rows};

	for (size_t i = 0; i < count; i++) {
		before[i] = found[i];
		found[i] = (struct straggler){0};
	}
	mark(&look, STRAGGLER_STEP, found);
	pass_over_the_new(&look, found);
	mark(&look, STRAGGLER_RATE, found);
	mark(&look, STRAGGLER_GPU, found);
	if (fill(&look, get_step) == 0)
		mark(&look, STRAGGLER_CPU, found);
}
