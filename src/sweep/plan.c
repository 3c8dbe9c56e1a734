#include "sweep/plan.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

void sweep_plan_finish(struct sweep_plan *plan)
{
	sweep_space_finish(&plan->space);
	free(plan->metric);
	*plan = (struct sweep_plan){0};
}

/* ---- chance ------------------------------------------------------------------------------- */

/* splitmix64: each input bit changes half of the output's. */
static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static uint64_t draw(const struct sweep_plan *plan, size_t parameter, uint64_t number)
{
	return mix(mix(mix((uint64_t)plan->seed) + parameter) + number);
}

/* 0 <= part < 1 */
static double draw_part(const struct sweep_plan *plan, size_t parameter, int64_t number)
{
	return (double)(draw(plan, parameter, (uint64_t)number) >> 11) * 0x1p-53;
}

/* Where trial `number` stands in a random order of all trials, another one for each parameter. */
static int64_t draw_place(const struct sweep_plan *plan, size_t parameter, int64_t number)
{
	size_t count = (size_t)plan->trials;
	int64_t *order cleanup_free = mem_alloc_array(count, sizeof(*order));

	for (size_t i = 0; i < count; i++)
		order[i] = (int64_t)i;
	for (size_t left = count; left > 1; left--) {
		size_t other = draw(plan, parameter, ((uint64_t)1 << 40) + left - 1) % left;
		int64_t moved = order[left - 1];
		order[left - 1] = order[other];
		order[other] = moved;
	}
	return order[number];
}

/* ---- combinations ------------------------------------------------------------------------- */

static void add_grid(const struct sweep_plan *plan, int64_t number, struct str_list *values)
{
	size_t count = plan->space.count;
	const char **chosen cleanup_free = mem_alloc_array(count, sizeof(*chosen));

	for (size_t i = count; i-- > 0;) {
		const struct str_list *all = &plan->space.items[i].values;
		chosen[i] = all->items[(size_t)number % all->count];
		number /= (int64_t)all->count;
	}
	for (size_t i = 0; i < count; i++)
		str_list_add(values, chosen[i]);
}

void sweep_plan_values(const struct sweep_plan *plan, int64_t number, struct str_list *values)
{
	if (plan->strategy == SWEEP_GRID) {
		add_grid(plan, number, values);
		return;
	}
	for (size_t i = 0; i < plan->space.count; i++) {
		double part = draw_part(plan, i, number);
		if (plan->strategy == SWEEP_LATIN)
			part = ((double)draw_place(plan, i, number) + part) / (double)plan->trials;
		str_list_take(values, sweep_parameter_at(&plan->space.items[i], part));
	}
}

/* ---- losers ------------------------------------------------------------------------------- */

int64_t sweep_plan_rung(const struct sweep_plan *plan, int rung)
{
	int64_t step = plan->first_rung;

	while (rung-- > 0 && step <= INT64_MAX / plan->reduction)
		step *= plan->reduction;
	return step;
}

bool sweep_plan_is_better(const struct sweep_plan *plan, double a, double b)
{
	if (isnan(a) || isnan(b))
		return isnan(b) && !isnan(a);
	return plan->maximize ? a > b : a < b;
}

bool sweep_plan_goes_on(const struct sweep_plan *plan, const double *values, size_t count,
			double own)
{
	size_t best = (count + 1) / (size_t)plan->reduction, better = 0;

	if (isnan(own))
		return false;
	for (size_t i = 0; i < count; i++)
		better += sweep_plan_is_better(plan, values[i], own);
	return better < (best > 1 ? best : 1);
}
