
#include "am/am_internal.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/random.h"
#include "framework/framework.h"

void am_restore(struct am *am, const struct job_view *view)
{
	if (am->place.am_attempt <= view->am_attempt)
		am->place.am_attempt = view->am_attempt + 1;
	am->waiting = mem_strdup(view->waiting);
	am->has_notified = view->notices != NULL;
	for (size_t i = 0; i < view->avoided.count; i++)
		str_list_add(&am->suspects, view->avoided.items[i]);
	am->machine =
		machine_restore(am->job, random_u64(), view, clock_monotonic_ms(), clock_wall_ms());
	machine_set_failures(am->machine, framework_failures(am->job));
	if (am->scheduler_ops->traits->one_host)
		machine_set_one_host(am->machine);
}

void am_restore_log_dirs(const struct am *am, const struct job_view *view)
{
	for (size_t i = 0; i < view->task_count; i++)
		if (view->tasks[i].log_dir)
			api_set_log_dir(am->api, i, view->tasks[i].log_dir);
}
