/* Memory that was asked for against memory that was used. */
#include <inttypes.h>
#include <stdlib.h>

#include "advise/rules.h"
#include "base/mem.h"

enum {
	MIB = 1 << 20,
	SPARE_LEAST_MIB = 128, /* on top of what was used; or SPARE_PERCENT of it */
	SPARE_PERCENT = 25,
	SAVED_LEAST_MIB = 256,	/* of a task; less is not worth a change */
	OVERSIZED_PERCENT = 70, /* of what is asked for would do */
	TIGHT_PERCENT = 90,
};

static const struct advise_enough enough = {.samples = 10, .least_ms = 1800000, .whole_ms = 0};

/* The most that any container of the type used, in MiB. Clusters hold the resident set against
 * their limits, so what is advised is about that; what tony tells elsewhere is the proportional
 * one. */
struct peak {
	int64_t mib, past_mib; /* of this run, of past ones */
	int64_t shared_mib,
		past_shared_mib; /* the same with shared pages counted once; 0: not known */
	int64_t spread_mib;	 /* between the median container of this run and the largest */
	size_t uses, past;
	struct advise_numbers all;
};

static void finish(struct peak *peak)
{
	advise_numbers_finish(&peak->all);
}

static int64_t to_mib(int64_t bytes)
{
	return (bytes + MIB - 1) / MIB;
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void look_back(const struct advising *advising, size_t type, struct peak *peak)
{
	for (size_t i = 0; i < advising->input->past_count; i++) {
		const struct history_type *past =
			advise_past_type(advising, &advising->input->past[i], type);
		if (!past || past->max_rss_bytes <= 0)
			continue;
		peak->past++;
		peak->past_mib = larger(to_mib(past->max_rss_bytes), peak->past_mib);
		peak->past_shared_mib = larger(to_mib(past->max_pss_bytes), peak->past_shared_mib);
	}
}

static struct peak peak_of(const struct advising *advising, size_t type)
{
	struct peak peak = {0};

	for (const struct advise_use *use = NULL; (use = advise_next_use(advising, type, use));) {
		if (use->max_rss_bytes <= 0)
			continue;
		int64_t mib = to_mib(use->max_rss_bytes);
		peak.uses++;
		peak.mib = larger(mib, peak.mib);
		peak.shared_mib = larger(to_mib(use->max_pss_bytes), peak.shared_mib);
		advise_numbers_add(&peak.all, (double)mib);
	}
	if (peak.uses > 0)
		peak.spread_mib = peak.mib - (int64_t)advise_percentile(&peak.all, 50);
	look_back(advising, type, &peak);
	return peak;
}

/* What to ask for where `mib` were used at most. */
static int64_t with_spare(int64_t mib, int64_t spread_mib)
{
	int64_t spare = mib * SPARE_PERCENT / 100;

	if (spare < SPARE_LEAST_MIB)
		spare = SPARE_LEAST_MIB;
	if (spare < spread_mib)
		spare = spread_mib;
	return advise_round_mib(mib + spare);
}

static size_t killed(const struct advising *advising, size_t type)
{
	size_t count = 0;

	for (size_t i = 0; i < advising->view->task_count; i++) {
		const struct task_view *task = &advising->view->tasks[i];
		for (size_t k = 0; task->type == type && k < task->attempt_count; k++)
			count += task->attempts[k].cause.kind == CAUSE_OUT_OF_MEMORY;
	}
	return count;
}

static void suggest(struct advice *advice, const struct advising *advising, size_t type,
		    int64_t mib)
{
	advice_type(advice, advising, type);
	advice_set_type(advice, advising, type, "memory",
			advise_mib(advising->job->types[type].memory), advise_mib(mib));
}

/* The caller frees. */
static char *describe_most(int64_t mib, int64_t shared_mib)
{
	char *resident cleanup_free = str_format_mib((double)mib);
	char *shared cleanup_free = str_format_mib((double)shared_mib);

	if (shared_mib <= 0 || str_equal(resident, shared))
		return mem_steal(&resident);
	return mem_printf("%s, or %s with shared pages counted for each process", shared, resident);
}

static void tell_peak(struct advice *advice, const struct peak *peak)
{
	char *most cleanup_free = describe_most(peak->mib, peak->shared_mib);
	char *past cleanup_free = describe_most(peak->past_mib, peak->past_shared_mib);

	if (peak->uses > 0)
		advice_evidence(advice, "the most that any of %zu container%s used: %s", peak->uses,
				str_plural(peak->uses), most);
	if (peak->past > 0)
		advice_evidence(advice, "the most in %zu past run%s: %s", peak->past,
				str_plural(peak->past), past);
}

/* ---- too little --------------------------------------------------------------------------- */

/* A program that is killed at its limit does not show how much it would have used. */
static void look_for_kills(struct advising *advising, size_t type)
{
	const struct job_type *asked = &advising->job->types[type];
	size_t kills = killed(advising, type);

	if (kills == 0)
		return;
	struct peak peak = peak_of(advising, type);
	int64_t mib = asked->memory + asked->memory / 2;
	int64_t past = with_spare(peak.past_mib, 0);
	struct advice *advice =
		advice_begin(advising, "%s needs more memory than it asks for", asked->name);
	char *limit cleanup_free = str_format_mib((double)asked->memory);
	advice_evidence(advice, "killed for being over its limit of %s: %zu time%s", limit, kills,
			str_plural(kills));
	tell_peak(advice, &peak);
	suggest(advice, advising, type, advise_round_mib(past > mib ? past : mib));
	advice_remedy(advice, "How much it would have used cannot be seen: if that is still too "
			      "little, raise it again, or make the program's batches smaller.");
	finish(&peak);
}

void rule_memory_exceeded(struct advising *advising)
{
	for (size_t i = 0; i < advising->job->type_count; i++)
		look_for_kills(advising, i);
}

/* Pages that its processes share count once against the limit. */
static int64_t most_in_proportion(const struct advising *advising, size_t type)
{
	struct peak peak = peak_of(advising, type);

	finish(&peak);
	return peak.shared_mib;
}

static void look_for_tightness(struct advising *advising, size_t type)
{
	const struct job_type *asked = &advising->job->types[type];
	int64_t most = most_in_proportion(advising, type);

	if (most == 0 || asked->memory == 0 || 100 * most < TIGHT_PERCENT * asked->memory ||
	    killed(advising, type) > 0)
		return;
	struct advice *advice =
		advice_begin(advising, "%s is about to run out of memory", asked->name);
	char *limit cleanup_free = str_format_mib((double)asked->memory);
	char *used cleanup_free = str_format_mib((double)most);
	advice_evidence(advice, "used up to %s of %s (%" PRId64 "%%)", used, limit,
			100 * most / asked->memory);
	suggest(advice, advising, type, with_spare(most, 0));
}

void rule_memory_tight(struct advising *advising)
{
	for (size_t i = 0; i < advising->job->type_count; i++)
		look_for_tightness(advising, i);
}

/* ---- too much ----------------------------------------------------------------------------- */

static void look_for_waste(struct advising *advising, size_t type)
{
	const struct job_type *asked = &advising->job->types[type];
	struct peak peak = peak_of(advising, type);
	int64_t most = peak.mib > peak.past_mib ? peak.mib : peak.past_mib;
	int64_t mib = with_spare(most, peak.spread_mib);

	if (peak.uses > 0 && killed(advising, type) == 0 &&
	    advise_is_enough(advising, type, &enough) && asked->memory - mib >= SAVED_LEAST_MIB &&
	    100 * mib <= OVERSIZED_PERCENT * asked->memory) {
		char *limit cleanup_free = str_format_mib((double)asked->memory);
		char *saved cleanup_free =
			str_format_mib((double)((asked->memory - mib) * asked->instances));
		struct advice *advice =
			advice_begin(advising, "%s asks for more memory than it uses", asked->name);
		advice_evidence(advice, "asked for: %s for each of %d task%s", limit,
				asked->instances, str_plural(asked->instances));
		tell_peak(advice, &peak);
		advice_evidence(advice, "others could have: %s", saved);
		suggest(advice, advising, type, mib);
	}
	finish(&peak);
}

void rule_memory_oversized(struct advising *advising)
{
	for (size_t i = 0; i < advising->job->type_count; i++)
		look_for_waste(advising, i);
}
