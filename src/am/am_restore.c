#include <sys/random.h>

#include "am/am_internal.h"
#include "base/clock.h"
#include "base/mem.h"

static uint64_t random_seed(void)
{
	uint64_t seed = 0;
	if (getrandom(&seed, sizeof(seed), 0) != (ssize_t)sizeof(seed))
		seed = (uint64_t)clock_monotonic_ms();
	return seed;
}

void am_restore(struct am *am, const struct job_view *view)
{
	if (am->place.am_attempt <= view->am_attempt)
		am->place.am_attempt = view->am_attempt + 1;
	am->waiting = mem_strdup(view->waiting);
	am->has_notified = view->notices != NULL;
	for (size_t i = 0; i < view->avoided.count; i++)
		str_list_add(&am->suspects, view->avoided.items[i]);
	am->machine = machine_restore(am->job, random_seed(), view, clock_monotonic_ms(),
				      clock_wall_ms());
	if (am->scheduler_ops->one_host)
		machine_set_one_host(am->machine);
}

void am_restore_log_dirs(const struct am *am, const struct job_view *view)
{
	for (size_t i = 0; i < view->task_count; i++)
		if (view->tasks[i].log_dir)
			api_set_log_dir(am->api, i, view->tasks[i].log_dir);
}
