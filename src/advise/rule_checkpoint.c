/* Work that was done twice, because a failure came long after the last checkpoint. */
#include <inttypes.h>
#include <math.h>

#include "advise/rules.h"
#include "base/mem.h"

enum {
	MINUTE_MS = 60000,
	LOSSES_MIN = 2,
	LOST_LEAST_MS = 10 * MINUTE_MS,
	LOST_PERCENT = 10, /* of the time in which steps were made */
	ANEW_PERCENT = 5,  /* of the steps made before: a program that begins below does so anew */
	CHECKPOINT_MS = 30000, /* what one is taken to cost, where nobody says */
};

/* A task's steps, over all of its containers. */
struct story {
	size_t task;
	int64_t worked_ms, lost_ms;
	size_t losses, anew;
	const struct advise_stretch *last;
	int64_t first_step; /* of the first stretch */
	double steps;
};

static void add_loss(struct story *story, const struct advise_stretch *next)
{
	int64_t lost = story->last->last_step - next->first_step;
	int64_t made = story->last->last_step - story->first_step;
	double steps = (double)(story->last->last_step - story->last->first_step);
	double ms = (double)(story->last->last_ms - story->last->first_ms);

	if (lost <= 0 || made <= 0 || steps <= 0)
		return;
	story->losses++;
	story->lost_ms += (int64_t)fmin((double)lost * ms / steps, (double)story->worked_ms);
	if (100 * (next->first_step - story->first_step) <= ANEW_PERCENT * made)
		story->anew++;
}

static void add_use(struct story *story, const struct advise_use *use)
{
	for (size_t i = 0; i < use->stretch_count; i++) {
		const struct advise_stretch *stretch = &use->stretches[i];
		if (story->last)
			add_loss(story, stretch);
		else
			story->first_step = stretch->first_step;
		story->worked_ms += stretch->last_ms - stretch->first_ms;
		story->steps += (double)(stretch->last_step - stretch->first_step);
		story->last = stretch;
	}
}

/* Of the task that lost most. False: none lost so much that it matters. */
static bool find_story(const struct advising *advising, struct story *most)
{
	const struct advise_uses *uses = &advising->input->uses;
	struct story story = {0};

	*most = (struct story){0};
	for (size_t i = 0; i < uses->count; i++) {
		if (i == 0 || uses->items[i].task != story.task)
			story = (struct story){.task = uses->items[i].task};
		add_use(&story, &uses->items[i]);
		if (story.lost_ms > most->lost_ms)
			*most = story;
	}
	return most->losses >= LOSSES_MIN && most->lost_ms >= LOST_LEAST_MS &&
	       100 * most->lost_ms >= LOST_PERCENT * most->worked_ms;
}

static void tell(struct advice *advice, const struct advising *advising, const struct story *story)
{
	const struct task_view *task = &advising->view->tasks[story->task];
	char *lost cleanup_free = str_format_duration(story->lost_ms);
	char *worked cleanup_free = str_format_duration(story->worked_ms);

	advice_evidence(advice, "%s:%d made %s of its %s of steps twice, after %zu restart%s",
			advising->job->types[task->type].name, task->index, lost, worked,
			story->losses, str_plural(story->losses));
	advice_type(advice, advising, task->type);
}

void rule_no_checkpoint(struct advising *advising)
{
	struct story story;

	if (!find_story(advising, &story) || story.anew < story.losses)
		return;
	struct advice *advice =
		advice_begin(advising, "the program begins anew after each failure");
	tell(advice, advising, &story);
	advice_remedy(advice, "Write checkpoints to TONY_CHECKPOINT_DIR, and begin with the newest "
			      "one that is there.");
}

/* Young's approximation: the square root of twice a checkpoint's cost times the time between
 * failures. */
static int64_t best_interval_ms(const struct story *story)
{
	double between_ms = (double)story->worked_ms / (double)story->losses;

	return (int64_t)sqrt(2.0 * CHECKPOINT_MS * between_ms);
}

void rule_checkpoint_interval(struct advising *advising)
{
	struct story story;

	if (!find_story(advising, &story) || story.anew == story.losses)
		return;
	/* A failure comes halfway between two checkpoints, on average. */
	int64_t interval_ms = 2 * story.lost_ms / (int64_t)story.losses;
	int64_t best_ms = best_interval_ms(&story);
	if (interval_ms < 2 * best_ms)
		return;
	struct advice *advice = advice_begin(advising, "checkpoints are too far apart");
	tell(advice, advising, &story);
	char *interval cleanup_free = str_format_duration(interval_ms);
	char *between cleanup_free = str_format_duration(story.worked_ms / (int64_t)story.losses);
	char *best cleanup_free = str_format_duration(best_ms);
	double steps = story.steps / (double)story.worked_ms * (double)best_ms;
	advice_evidence(advice, "checkpoints seem to be about %s apart, failures %s", interval,
			between);
	advice_remedy(advice,
		      "Write one about every %s, which is every %.0f steps: best for checkpoints "
		      "of 30 s (Young); for those that take a quarter of that, half as far apart.",
		      best, steps);
}
