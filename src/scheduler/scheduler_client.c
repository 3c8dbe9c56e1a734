#include "base/mem.h"
#include "scheduler/local.h"
#include "scheduler/scheduler.h"
#include "scheduler/yarn_client.h"

static const struct scheduler_client_ops *const schedulers[] = {
	&local_scheduler_client,
	&yarn_scheduler_client,
};

const struct scheduler_client_ops *scheduler_client_find(const char *name)
{
	for (size_t i = 0; i < array_length(schedulers); i++) {
		if (str_equal(schedulers[i]->name, name))
			return schedulers[i];
	}
	return NULL;
}

const struct scheduler_client_ops *scheduler_client_at(size_t index)
{
	return index < array_length(schedulers) ? schedulers[index] : NULL;
}
