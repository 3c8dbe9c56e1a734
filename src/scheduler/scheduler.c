#include "scheduler/scheduler.h"

#include "base/mem.h"
#include "base/str.h"
#include "job/scheduler_list.h"

#define DECLARATION(engine) extern const struct scheduler_ops engine##_scheduler;
#define POINTER(engine)	    &engine##_scheduler,
SCHEDULER_LIST(DECLARATION, DECLARATION)

static const struct scheduler_ops *const schedulers[] = {SCHEDULER_LIST(POINTER, POINTER)};

const struct scheduler_ops *scheduler_find(const char *name)
{
	for (size_t i = 0; i < array_length(schedulers); i++) {
		if (str_equal(schedulers[i]->traits->name, name))
			return schedulers[i];
	}
	return NULL;
}

const struct scheduler_ops *scheduler_here(void)
{
	for (size_t i = 0; i < array_length(schedulers); i++) {
		if (!schedulers[i]->traits->shares_files && schedulers[i]->container.is_here())
			return schedulers[i];
	}
	return NULL;
}
