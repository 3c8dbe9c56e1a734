/*
 * 1,000 jobs in 1,000 worlds: see sim.h. `test_sim --seeds 417` repeats the one that broke.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/opt.h"
#include "sim.h"

#define EVENT_CAP    20000000
#define TIME_CAP_MS  (30LL * 24 * 3600 * 1000)
#define FINISH_MS    30000 /* containers that are not back after that are left to the scheduler */
#define BROKEN_CAP   5
#define STALE_AT_END 200 /* late messages that an ended job is still tried with */

struct options {
	char *seeds;
	int64_t tasks;
	bool verbose;
};

static const struct opt option_list[] = {
	{.name = "seeds",
	 .kind = OPT_TEXT,
	 .offset = offsetof(struct options, seeds),
	 .argument = "A-B",
	 .help = "Seeds to try (1-1000)"},
	{.name = "tasks",
	 .kind = OPT_NUMBER,
	 .offset = offsetof(struct options, tasks),
	 .argument = "N",
	 .help = "Tasks of the largest job (200)",
	 .min = 1,
	 .max = JOB_MAX_TASKS - 100},
	{.name = "verbose",
	 .kind = OPT_FLAG,
	 .offset = offsetof(struct options, verbose),
	 .help = "Print every event"},
};
static const struct opt_table option_table = {
	.verb = "",
	.usage = "test_sim [OPTIONS]",
	.summary = "Runs jobs in rough worlds",
	.options = option_list,
	.option_count = array_length(option_list),
};

static void begin(struct sim *sim, uint64_t seed, int max_tasks, bool verbose)
{
	*sim = (struct sim){.random = {.state = seed}, .verbose = verbose, .known_epoch = 1};
	sim->random.state = random_next(&sim->random); /* neighbours must not walk the same way */
	sim->job = shape_job(&sim->random, max_tasks);
	shape_weather(&sim->random, sim->job, &sim->weather);
	sim->machine = machine_create(sim->job, seed);
	size_t count = machine_task_count(sim->machine);
	sim->view = job_view_create(sim->job);
	sim->tasks = mem_alloc_array(count, sizeof(*sim->tasks));
	sim->formed_epochs = mem_alloc_array(sim->job->type_count, sizeof(*sim->formed_epochs));
	for (size_t i = 0; i < count; i++)
		sim->tasks[i].newest = SIZE_MAX;
}

static void finish(struct sim *sim)
{
	job_view_destroy(sim->view);
	mirror_lose(sim);
	free(sim->unkept);
	str_list_finish(&sim->lines);
	machine_destroy(sim->machine);
	job_destroy(sim->job);
	action_list_finish(&sim->actions);
	free(sim->heap);
	free(sim->containers);
	free(sim->tasks);
	free(sim->formed_epochs);
	free(sim->broken);
}

static void run_to_the_end(struct sim *sim)
{
	int64_t finishing_since = 0;

	world_begin(sim);
	while (!sim->broken && !job_state_is_final(sim->job_state)) {
		if (!world_step(sim) || sim->now > TIME_CAP_MS || sim->events > EVENT_CAP)
			sim_break(sim, "the job does not end");
		if (sim->job_state == JOB_FINISHING && finishing_since == 0)
			finishing_since = sim->now;
	}
	sim->finish_overdue = finishing_since > 0 && sim->now >= finishing_since + FINISH_MS;
	if (!sim->broken)
		check_end(sim);
	mirror_catch_up(sim);
	mirror_check(sim);
	for (int i = 0; i < STALE_AT_END && !sim->broken; i++)
		if (!world_step(sim))
			break;
}

static void report(const struct sim *sim, uint64_t seed)
{
	printf("seed %" PRIu64 " broke: %s\n", seed, sim->broken);
	for (uint64_t i = 1; i <= TRACE_LENGTH; i++)
		trace_print(sim, &sim->trace[(sim->traced + i) % TRACE_LENGTH]);
}

/* Of all seeds. */
struct sums {
	size_t ends[JOB_STATE_COUNT];
	uint64_t events, deaths, losses, scalings, free_epochs, early;
};

static bool run_seed(uint64_t seed, const struct options *options, struct sums *sums)
{
	struct sim sim;

	begin(&sim, seed, (int)options->tasks, options->verbose);
	run_to_the_end(&sim);
	bool held = !sim.broken;
	if (!held)
		report(&sim, seed);
	sums->ends[sim.job_state]++;
	sums->events += sim.events;
	sums->deaths += sim.deaths;
	sums->losses += sim.losses;
	sums->scalings += sim.scalings;
	sums->free_epochs += sim.free_epochs;
	sums->early += sim.early;
	finish(&sim);
	return held;
}

static int parse_seeds(const char *text, int64_t *first, int64_t *last)
{
	const char *dash = strchr(text, '-');
	char *start cleanup_free = mem_strndup(text, dash ? (size_t)(dash - text) : strlen(text));

	if (str_parse_int(start, 0, INT64_MAX, first) < 0)
		return -1;
	*last = *first;
	return dash ? str_parse_int(dash + 1, *first, INT64_MAX, last) : 0;
}

static int run_seeds(const struct options *options)
{
	struct sums sums = {0};
	int64_t first = 1, last = 1000, seed;
	int broken = 0;

	if (options->seeds && parse_seeds(options->seeds, &first, &last) < 0) {
		fprintf(stderr, "test_sim: --seeds: \"%s\" is not of the form 7 or 1-1000\n",
			options->seeds);
		return 2;
	}
	for (seed = first; seed <= last && broken < BROKEN_CAP; seed++)
		broken += !run_seed((uint64_t)seed, options, &sums);
	printf("%" PRId64 " seeds, %" PRIu64 " events, %" PRIu64 " AMs that died, "
	       "%" PRIu64 " of them with unkept lines, %" PRIu64 " types scaled, %" PRIu64
	       " epochs at no charge, "
	       "%" PRIu64 " registered first: "
	       "%zu succeeded, %zu failed, %zu killed; %d broke\n",
	       seed - first, sums.events, sums.deaths, sums.losses, sums.scalings, sums.free_epochs,
	       sums.early, sums.ends[JOB_SUCCEEDED], sums.ends[JOB_FAILED], sums.ends[JOB_KILLED],
	       broken);
	return broken > 0;
}

int main(int argc, char **argv)
{
	struct options options = {.tasks = 200};
	struct str_list operands cleanup_str_list = {0};
	struct err err cleanup_err = {0};

	if (opt_parse(&option_table, argc, argv, &options, &operands, NULL, &err) < 0) {
		fprintf(stderr, "test_sim: %s\n", err_message(&err));
		return 2;
	}
	int code = run_seeds(&options);
	opt_finish(&option_table, &options);
	return code;
}
