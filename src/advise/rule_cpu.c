/* Cores that were asked for against cores that were used. */
#include <math.h>

#include "advise/rules.h"
#include "base/mem.h"

enum { MINUTE_MS = 60000 };
#define SHORT_FACTOR 1.25 /* of what is asked for is used on average */
#define SPARE_FACTOR 1.25 /* of what was used at its height */

static const struct advise_enough enough = {
	.samples = 20, .least_ms = 10 * MINUTE_MS, .whole_ms = 5 * MINUTE_MS};

static void suggest(struct advice *advice, const struct advising *advising, size_t type, int vcores)
{
	advice_type(advice, advising, type);
	advice_set_type(advice, advising, type, "vcores",
			mem_printf("%d", advising->job->types[type].vcores),
			mem_printf("%d", vcores));
}

/* Nobody holds a task to its cores everywhere. */
static void look_for_shortage(struct advising *advising, size_t type)
{
	const struct job_type *asked = &advising->job->types[type];
	double used = advise_mean(advising, type, advise_average_cores);

	if (used < SHORT_FACTOR * asked->vcores || used < asked->vcores + 0.5 ||
	    !advise_is_enough(advising, type, &enough))
		return;
	struct advice *advice =
		advice_begin(advising, "%s uses more cores than it asks for", asked->name);
	advice_evidence(advice, "asked for: %d; used on average: %.1f", asked->vcores, used);
	suggest(advice, advising, type, (int)ceil(used));
	advice_remedy(advice, "On a node that is full, or holds tasks to their cores, it runs "
			      "slower than it did here.");
}

void rule_cpu_short(struct advising *advising)
{
	for (size_t i = 0; i < advising->job->type_count; i++)
		look_for_shortage(advising, i);
}

/* The most of any container for most of its time, and what past runs came to on average. */
static double high_cores(const struct advising *advising, size_t type)
{
	double most = -1;

	for (const struct advise_use *use = NULL; (use = advise_next_use(advising, type, use));)
		most = fmax(most, use->high_cores);
	for (size_t i = 0; most >= 0 && i < advising->input->past_count; i++) {
		const struct history_type *past =
			advise_past_type(advising, &advising->input->past[i], type);
		if (past)
			most = fmax(most, (double)past->average_cpu_percent / 100);
	}
	return most;
}

static void look_for_waste(struct advising *advising, size_t type)
{
	const struct job_type *asked = &advising->job->types[type];
	double used = high_cores(advising, type);
	int vcores = used * SPARE_FACTOR > 1 ? (int)ceil(used * SPARE_FACTOR) : 1;

	if (used < 0 || 2 * vcores > asked->vcores || !advise_is_enough(advising, type, &enough))
		return;
	struct advice *advice =
		advice_begin(advising, "%s asks for more cores than it uses", asked->name);
	advice_evidence(advice,
			"asked for: %d; used 95%% of the time: at most %.1f; on average: %.1f",
			asked->vcores, used, advise_mean(advising, type, advise_average_cores));
	advice_evidence(advice, "others could have: %d cores",
			(asked->vcores - vcores) * asked->instances);
	suggest(advice, advising, type, vcores);
}

void rule_cpu_oversized(struct advising *advising)
{
	for (size_t i = 0; i < advising->job->type_count; i++)
		look_for_waste(advising, i);
}
