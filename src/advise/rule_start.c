/* The time before a program does what it is for. */

#include "advise/rules.h"
#include "base/mem.h"

enum {
	MINUTE_MS = 60000,
	GANG_LEAST_MS = 10 * MINUTE_MS, /* waits shorter than these are no matter */
	LAUNCH_LEAST_MS = MINUTE_MS,
	START_LEAST_MS = 5 * MINUTE_MS,
	SHARE_PERCENT = 20, /* of the job's or the program's time */
};

static bool is_large_share(int64_t part_ms, int64_t rest_ms)
{
	return 100 * part_ms >= SHARE_PERCENT * (part_ms + rest_ms);
}

static const char *queue_of(const struct job *job)
{
	return job->queue ? job->queue : "its queue";
}

/* ---- containers --------------------------------------------------------------------------- */

/* How long each task's first container took to come: the longest, and the type that had it. */
static int64_t longest_wait(const struct advising *advising, size_t *type)
{
	int64_t longest = -1;

	for (size_t i = 0; i < advising->view->task_count; i++) {
		const struct task_view *task = &advising->view->tasks[i];
		const struct attempt_view *first = task->attempts;
		if (task->attempt_count == 0 || task->requested_ms == 0 || first->attempt != 1 ||
		    first->allocated_ms - task->requested_ms <= longest)
			continue;
		longest = first->allocated_ms - task->requested_ms;
		*type = task->type;
	}
	return longest;
}

/* Container-time in which first containers did nothing but wait for the rest of the gang. */
static int64_t held_ms(const struct advising *advising)
{
	int64_t held = 0;

	for (size_t i = 0; i < advising->view->task_count; i++) {
		const struct task_view *task = &advising->view->tasks[i];
		if (task->attempt_count > 0 && task->attempts->registered_ms > 0 &&
		    task->attempts->started_ms > task->attempts->registered_ms)
			held += task->attempts->started_ms - task->attempts->registered_ms;
	}
	return held;
}

void rule_gang_wait(struct advising *advising)
{
	size_t type = 0;
	int64_t wait_ms = longest_wait(advising, &type), run_ms = advise_running_ms(advising);

	if (wait_ms < GANG_LEAST_MS || run_ms == 0 || !is_large_share(wait_ms, run_ms))
		return;
	struct advice *advice = advice_begin(advising, "the job waited long for its containers");
	char *wait cleanup_free = str_format_duration(wait_ms);
	char *run cleanup_free = str_format_duration(run_ms);
	char *held cleanup_free = str_format_duration(held_ms(advising));
	advice_evidence(advice, "waited %s for the last container, of type %s; then ran for %s",
			wait, advising->job->types[type].name, run);
	advice_evidence(advice, "containers that were there already were held idle for %s in all",
			held);
	advice_type(advice, advising, type);
	advice_remedy(advice,
		      "Ask for fewer or smaller containers of %s, or submit when there is more "
		      "room in %s, or to another one (tony.application.queue).",
		      advising->job->types[type].name, queue_of(advising->job));
}

/* ---- launch ------------------------------------------------------------------------------- */

/* From launch to registration, for each container of the type that got so far. */
static void launches_of(const struct advising *advising, size_t type,
			struct advise_numbers *launches)
{
	for (size_t i = 0; i < advising->view->task_count; i++) {
		const struct task_view *task = &advising->view->tasks[i];
		const struct attempt_view *first = task->attempts;
		if (task->type == type && task->attempt_count > 0 && first->launched_ms > 0 &&
		    first->registered_ms > 0)
			advise_numbers_add(launches,
					   (double)(first->registered_ms - first->launched_ms));
	}
}

static void look_at_launches(struct advising *advising, size_t type)
{
	struct advise_numbers launches cleanup_numbers = {0};

	launches_of(advising, type, &launches);
	if (launches.count == 0)
		return;
	int64_t usual_ms = (int64_t)advise_percentile(&launches, 50);
	if (usual_ms < LAUNCH_LEAST_MS || !is_large_share(usual_ms, advise_running_ms(advising)))
		return;
	struct advice *advice = advice_begin(advising, "containers of %s are slow to come up",
					     advising->job->types[type].name);
	char *usual cleanup_free = str_format_duration(usual_ms);
	char *run cleanup_free = str_format_duration(advise_running_ms(advising));
	advice_evidence(advice,
			"from launch to registration: %s in the median of %zu; then ran "
			"for %s",
			usual, launches.count, run);
	advice_type(advice, advising, type);
	advice_remedy(advice, "That is the time for fetching files and images: send less, or what "
			      "nodes can keep from one job to the next (archives in HDFS, an image "
			      "that is there already).");
}

void rule_slow_launch(struct advising *advising)
{
	for (size_t i = 0; i < advising->job->type_count; i++)
		look_at_launches(advising, i);
}

/* ---- the program's own -------------------------------------------------------------------- */

/* From the start of the use's first process to its first step, in ms; -1: not known. */
static int64_t until_first_step(const struct advising *advising, const struct advise_use *use)
{
	const struct task_view *task = &advising->view->tasks[use->task];

	for (size_t i = 0; use->stretch_count > 0 && i < task->attempt_count; i++)
		if (task->attempts[i].attempt == use->attempt && task->attempts[i].started_ms > 0)
			return use->stretches[0].first_ms - task->attempts[i].started_ms;
	return -1;
}

static void look_at_starts(struct advising *advising, size_t type)
{
	struct advise_numbers starts cleanup_numbers = {0};

	for (const struct advise_use *use = NULL; (use = advise_next_use(advising, type, use));)
		if (until_first_step(advising, use) >= 0)
			advise_numbers_add(&starts, (double)until_first_step(advising, use));
	if (starts.count == 0)
		return;
	int64_t usual_ms = (int64_t)advise_percentile(&starts, 50);
	int64_t rest_ms = advise_running_ms(advising) - usual_ms;
	if (usual_ms < START_LEAST_MS || rest_ms <= 0 || !is_large_share(usual_ms, rest_ms))
		return;
	struct advice *advice = advice_begin(advising, "%s takes long to make its first step",
					     advising->job->types[type].name);
	char *usual cleanup_free = str_format_duration(usual_ms);
	char *rest cleanup_free = str_format_duration(rest_ms);
	advice_evidence(advice,
			"from its start to its first step: %s in the median of %zu "
			"programs; then ran for %s",
			usual, starts.count, rest);
	advice_type(advice, advising, type);
	advice_remedy(advice, "Imports, reading of data and compilation are what takes this time: "
			      "prepare data in a stage of its own "
			      "(tony.application.prepare-stage), and keep what is compiled.");
}

void rule_slow_start(struct advising *advising)
{
	for (size_t i = 0; i < advising->job->type_count; i++)
		look_at_starts(advising, i);
}
