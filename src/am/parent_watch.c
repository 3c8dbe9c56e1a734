#include "am/parent_watch.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/timer.h"

enum {
	LOOK_MS = 1000,
	MISSES = 5, /* looks at a parent without an AM: another one may be coming up */
};

struct parent_watch {
	struct parent_options options;
	struct awaited parent;
	struct event *timer;
	int misses;
};

static void judge(void *data, const struct scheduler_other *seen)
{
	struct parent_watch *watch = data;

	watch->misses = seen->standing == SCHEDULER_OTHER_GONE ? watch->misses + 1 : 0;
	if (seen->standing != SCHEDULER_OTHER_ENDED && watch->misses < MISSES) {
		timer_start(watch->timer, LOOK_MS);
		return;
	}
	char *text cleanup_free = mem_printf(
		"canceled: job %s, within which it was submitted, has ended", watch->parent.id);
	watch->options.ended(watch->options.data, text);
}

static void on_timer(evutil_socket_t fd, short what, void *data)
{
	struct parent_watch *watch = data;
	struct scheduler_other seen = {0};

	if (!watch->options.ops->look_at(watch->options.scheduler, &watch->parent, &seen, judge,
					 watch))
		return;
	judge(watch, &seen);
	scheduler_other_finish(&seen);
}

struct parent_watch *parent_watch_create(const struct parent_options *options)
{
	const struct job *job = options->job;

	if (!job->parent || job->outlives_parent)
		return NULL;
	struct parent_watch *watch = mem_alloc(sizeof(*watch));
	/* When it was submitted is not known, so its history is not found. A parent of which
	 * nothing else is left counts as ended after the MISSES. */
	*watch = (struct parent_watch){.options = *options,
				       .parent = {.id = mem_strdup(job->parent)}};
	watch->timer = evtimer_new(options->base, on_timer, watch);
	timer_start(watch->timer, LOOK_MS);
	return watch;
}

void parent_watch_destroy(struct parent_watch *watch)
{
	if (!watch)
		return;
	event_free(watch->timer);
	awaited_finish(&watch->parent);
	free(watch);
}
