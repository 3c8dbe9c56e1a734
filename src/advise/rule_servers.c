/* Parameter servers: too few of them, or too many. */

#include "advise/rules.h"
#include "base/mem.h"

enum {
	MINUTE_MS = 60000,
	FULL_PERCENT = 85,    /* of the cores asked for */
	WAITING_PERCENT = 60, /* a worker that uses less waits for something */
	IDLE_PERCENT = 5,
};
#define NETWORK_IDLE (1024.0 * 1024) /* bytes per second */

static const struct advise_enough enough = {
	.samples = 20, .least_ms = 10 * MINUTE_MS, .whole_ms = 5 * MINUTE_MS};

/* "ps" of TensorFlow, "server" of MXNet; -1: the job has none, or too little is known. */
static int servers_of(const struct advising *advising)
{
	int type = job_find_type(advising->job, "ps");

	if (type < 0)
		type = job_find_type(advising->job, "server");
	if (type < 0 || advising->job->types[type].instances == 0 ||
	    !advise_is_enough(advising, (size_t)type, &enough))
		return -1;
	return type;
}

/* Percent of what is asked for; -1: not known. */
static double cpu_percent(const struct advising *advising, size_t type)
{
	double cores = advise_mean(advising, type, advise_average_cores);

	return cores < 0 ? -1 : 100 * cores / advising->job->types[type].vcores;
}

static void suggest(struct advice *advice, const struct advising *advising, size_t type, int count)
{
	advice_type(advice, advising, type);
	advice_set_type(advice, advising, type, "instances",
			mem_printf("%d", advising->job->types[type].instances),
			mem_printf("%d", count));
}

void rule_ps_saturated(struct advising *advising)
{
	int servers = servers_of(advising), workers = job_find_type(advising->job, "worker");

	if (servers < 0 || workers < 0 || !advise_is_enough(advising, (size_t)workers, &enough))
		return;
	const struct job_type *asked = &advising->job->types[servers];
	double full = cpu_percent(advising, (size_t)servers);
	double waiting = cpu_percent(advising, (size_t)workers);
	double gpu = advise_mean(advising, (size_t)workers, advise_average_gpu);
	if (full < FULL_PERCENT || waiting < 0 || waiting > WAITING_PERCENT ||
	    gpu > WAITING_PERCENT)
		return;
	int limit = advising->job->types[workers].instances;
	int count = 2 * asked->instances < limit ? 2 * asked->instances : limit;
	struct advice *advice =
		advice_begin(advising, "the workers wait for the parameter servers");
	advice_evidence(advice, "%s used %.0f%% of the cores asked for", asked->name, full);
	advice_evidence(advice, "worker used %.0f%% of theirs", waiting);
	if (gpu >= 0)
		advice_evidence(advice, "the workers' GPUs were in use %.0f%% on average", gpu);
	if (count > asked->instances) {
		suggest(advice, advising, (size_t)servers, count);
		return;
	}
	advice_type(advice, advising, (size_t)servers);
	advice_set_type(advice, advising, (size_t)servers, "vcores",
			mem_printf("%d", asked->vcores), mem_printf("%d", 2 * asked->vcores));
}

static bool all_idle(const struct advising *advising, size_t type)
{
	double allowed = advising->job->types[type].vcores * IDLE_PERCENT / 100.0;

	for (const struct advise_use *use = NULL; (use = advise_next_use(advising, type, use));)
		if (use->average_cores < 0 || use->average_cores > allowed ||
		    use->network_rate > NETWORK_IDLE)
			return false;
	return true;
}

void rule_ps_idle(struct advising *advising)
{
	int servers = servers_of(advising);

	if (servers < 0 || advising->job->types[servers].instances < 2 ||
	    !all_idle(advising, (size_t)servers))
		return;
	const struct job_type *asked = &advising->job->types[servers];
	struct advice *advice =
		advice_begin(advising, "there are more parameter servers than are needed");
	advice_evidence(advice, "%d of %s used %.1f%% of the cores asked for", asked->instances,
			asked->name, cpu_percent(advising, (size_t)servers));
	suggest(advice, advising, (size_t)servers, asked->instances / 2);
}
