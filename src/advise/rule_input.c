/* Programs that wait for their input, as tony.data tells. */
#include "advise/rules.h"
#include "base/mem.h"

enum {
	MINUTE_MS = 60000,
	BOUND_PERCENT = 30,    /* of its time a program waits */
	CPU_FULL_PERCENT = 90, /* of the cores asked for */
};

static const struct advise_enough enough = {
	.samples = 20, .least_ms = 10 * MINUTE_MS, .whole_ms = 5 * MINUTE_MS};

static double input_wait(const struct advise_use *use)
{
	return use->input_wait_percent;
}

static void suggest(struct advice *advice, const struct advising *advising, size_t type,
		    bool is_full)
{
	int vcores = advising->job->types[type].vcores;

	advice_type(advice, advising, type);
	if (!is_full) {
		advice_remedy(advice, "Read ahead in more threads (prefetch= of tony.data.shard), "
				      "read only what is needed (columns=, where=), or store the "
				      "data in fewer and larger files.");
		return;
	}
	advice_set_type(advice, advising, type, "vcores", mem_printf("%d", vcores),
			mem_printf("%d", 2 * vcores));
	advice_remedy(advice, "The cores are busy with decoding: read only what is needed "
			      "(columns=, where=), and Avro, JSON and text in more processes.");
}

static void look(struct advising *advising, size_t type)
{
	const struct job_type *asked = &advising->job->types[type];
	double wait = advise_mean(advising, type, input_wait);
	double cores = advise_mean(advising, type, advise_average_cores);

	if (wait < BOUND_PERCENT || !advise_is_enough(advising, type, &enough))
		return;
	struct advice *advice = advice_begin(advising, "%s waits for its input", asked->name);
	advice_evidence(advice, "of its time on average: %.0f%%", wait);
	if (cores >= 0)
		advice_evidence(advice, "cores in use on average: %.1f of %d", cores,
				asked->vcores);
	suggest(advice, advising, type, 100 * cores >= CPU_FULL_PERCENT * asked->vcores);
}

void rule_input_bound(struct advising *advising)
{
	for (size_t i = 0; i < advising->job->type_count; i++)
		look(advising, i);
}
