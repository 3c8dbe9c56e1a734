/* GPUs that do little, and why. */
#include <math.h>

#include "advise/rules.h"
#include "base/mem.h"

enum {
	MINUTE_MS = 60000,
	IDLE_PERCENT = 5,      /* below: it does nothing */
	BUSY_PERCENT = 20,     /* above: it is in use */
	STARVED_PERCENT = 50,  /* below: it waits more than it works */
	UNTOUCHED_PERCENT = 5, /* of its memory */
	CPU_FULL_PERCENT = 90, /* of the cores asked for */
	CPU_FREE_PERCENT = 50,
};
#define READS_MUCH (20.0 * 1024 * 1024) /* bytes per second */

static const struct advise_enough enough = {
	.samples = 20, .least_ms = 10 * MINUTE_MS, .whole_ms = 5 * MINUTE_MS};

/* In percent; -1: not known. */
static double memory_of(const struct advise_gpu *gpu)
{
	return gpu->memory_bytes > 0 ? 100 * gpu->used_bytes / gpu->memory_bytes : -1;
}

static double high_memory(const struct advise_use *use)
{
	double most = -1;

	for (size_t i = 0; i < use->gpu_count; i++)
		most = fmax(most, memory_of(&use->gpus[i]));
	return most;
}

static double read_rate(const struct advise_use *use)
{
	return use->read_rate;
}

static double network_rate(const struct advise_use *use)
{
	return use->network_rate;
}

/* The mean use of the type's GPUs in percent; -1: it has none, or there is too little to tell. */
static double average_of(const struct advising *advising, size_t type)
{
	if (advising->job->types[type].gpus == 0 || !advise_is_enough(advising, type, &enough))
		return -1;
	return advise_mean(advising, type, advise_average_gpu);
}

/* ---- idle --------------------------------------------------------------------------------- */

static bool is_idle(const struct advise_gpu *gpu)
{
	return gpu->average_percent >= 0 && gpu->average_percent < IDLE_PERCENT &&
	       gpu->high_percent < BUSY_PERCENT;
}

static bool all_idle(const struct advising *advising, size_t type)
{
	for (const struct advise_use *use = NULL; (use = advise_next_use(advising, type, use));)
		for (size_t i = 0; i < use->gpu_count; i++)
			if (!is_idle(&use->gpus[i]))
				return false;
	return true;
}

static void look_for_idleness(struct advising *advising, size_t type)
{
	const struct job_type *asked = &advising->job->types[type];
	double average = average_of(advising, type);

	if (average < 0 || !all_idle(advising, type))
		return;
	double memory = advise_mean(advising, type, high_memory);
	struct advice *advice =
		advice_begin(advising, "the GPUs of %s have nothing to do", asked->name);
	advice_evidence(advice, "in use %.0f%% of the time on average; never above %d%% for long",
			average, BUSY_PERCENT);
	if (memory >= 0)
		advice_evidence(advice, "the most of their memory that was in use: %.0f%%", memory);
	advice_type(advice, advising, type);
	advice_set_type(advice, advising, type, "gpus", mem_printf("%d", asked->gpus),
			mem_strdup("0"));
	if (memory >= 0 && memory < UNTOUCHED_PERCENT)
		advice_remedy(advice, "The program has not touched them: if it was to use them, "
				      "see whether its framework was built for GPUs, and finds "
				      "the driver.");
	else
		advice_remedy(advice, "The program holds their memory and computes elsewhere.");
}

void rule_gpu_idle(struct advising *advising)
{
	for (size_t i = 0; i < advising->job->type_count; i++)
		look_for_idleness(advising, i);
}

/* How many GPUs of the container were in use; 0 when that cannot be told of each. */
static int in_use(const struct advise_use *use)
{
	int busy = 0;

	for (size_t i = 0; i < use->gpu_count; i++) {
		const struct advise_gpu *gpu = &use->gpus[i];
		if (gpu->average_percent >= BUSY_PERCENT)
			busy++;
		else if (!is_idle(gpu) || memory_of(gpu) > UNTOUCHED_PERCENT)
			return 0;
	}
	return busy;
}

/* The same number in all containers of the type; 0: it differs, or cannot be told. */
static int in_use_everywhere(const struct advising *advising, size_t type)
{
	int all = 0;

	for (const struct advise_use *use = NULL; (use = advise_next_use(advising, type, use));) {
		int here =
			use->gpu_count == (size_t)advising->job->types[type].gpus ? in_use(use) : 0;
		if (here == 0 || (all > 0 && here != all))
			return 0;
		all = here;
	}
	return all;
}

static void look_for_the_unused(struct advising *advising, size_t type)
{
	const struct job_type *asked = &advising->job->types[type];
	int used = average_of(advising, type) < 0 ? 0 : in_use_everywhere(advising, type);

	if (used == 0 || used >= asked->gpus)
		return;
	struct advice *advice =
		advice_begin(advising, "%s uses %d of its %d GPUs", asked->name, used, asked->gpus);
	advice_evidence(advice,
			"%d of %d GPUs of each task stayed below %d%%, with less than %d%% "
			"of their memory in use",
			asked->gpus - used, asked->gpus, IDLE_PERCENT, UNTOUCHED_PERCENT);
	advice_type(advice, advising, type);
	advice_set_type(advice, advising, type, "gpus", mem_printf("%d", asked->gpus),
			mem_printf("%d", used));
	if (asked->processes < asked->gpus)
		advice_remedy(advice,
			      "A program that takes one GPU for each process can use all of them: "
			      "start %d processes in each task (tony.%s.processes).",
			      asked->gpus, asked->name);
}

void rule_gpu_partly_used(struct advising *advising)
{
	for (size_t i = 0; i < advising->job->type_count; i++)
		look_for_the_unused(advising, i);
}

/* ---- waiting for input -------------------------------------------------------------------- */

static bool is_starved(double average)
{
	return average >= IDLE_PERCENT && average < STARVED_PERCENT;
}

static void look_for_lack_of_cpu(struct advising *advising, size_t type)
{
	const struct job_type *asked = &advising->job->types[type];
	double average = average_of(advising, type);
	double cores = advise_mean(advising, type, advise_average_cores);

	if (!is_starved(average) || 100 * cores < CPU_FULL_PERCENT * asked->vcores)
		return;
	struct advice *advice =
		advice_begin(advising, "the GPUs of %s wait for its processors", asked->name);
	int vcores = 2 * asked->vcores > (int)ceil(cores) ? 2 * asked->vcores : (int)ceil(cores);
	advice_evidence(advice, "GPUs in use on average: %.0f%%", average);
	advice_evidence(advice, "cores in use on average: %.1f of %d", cores, asked->vcores);
	advice_type(advice, advising, type);
	advice_set_type(advice, advising, type, "vcores", mem_printf("%d", asked->vcores),
			mem_printf("%d", vcores));
	advice_remedy(advice, "The input pipeline has to use the cores: more loader processes, "
			      "fewer conversions for each example.");
}

void rule_gpu_starved(struct advising *advising)
{
	for (size_t i = 0; i < advising->job->type_count; i++)
		look_for_lack_of_cpu(advising, i);
}

static void look_for_lack_of_data(struct advising *advising, size_t type)
{
	const struct job_type *asked = &advising->job->types[type];
	double average = average_of(advising, type);
	double cores = advise_mean(advising, type, advise_average_cores);
	double storage = advise_mean(advising, type, read_rate);
	/* Among several tasks it may as well be gradients that travel. */
	double network =
		advising->view->task_count == 1 ? advise_mean(advising, type, network_rate) : -1;

	if (!is_starved(average) || cores < 0 || 100 * cores > CPU_FREE_PERCENT * asked->vcores ||
	    fmax(storage, network) < READS_MUCH)
		return;
	struct advice *advice = advice_begin(advising, "the GPUs of %s wait for data", asked->name);
	advice_evidence(advice, "GPUs in use on average: %.0f%%; cores: %.1f of %d", average, cores,
			asked->vcores);
	advice_evidence(advice, "comes in at %.0f MB/s", fmax(storage, network) / 1e6);
	advice_type(advice, advising, type);
	advice_remedy(advice, "Read ahead, read several files at once, keep what is read again on "
			      "the node, or store the data in fewer and larger files.");
}

void rule_gpu_waits(struct advising *advising)
{
	for (size_t i = 0; i < advising->job->type_count; i++)
		look_for_lack_of_data(advising, i);
}
