#include "base/mem.h"
#include "job/scheduler_list.h"
#include "scheduler/scheduler.h"

#define DECLARATION(engine) extern const struct scheduler_client_ops engine##_scheduler_client;
#define POINTER(engine)	    &engine##_scheduler_client,
SCHEDULER_LIST(DECLARATION, DECLARATION)

static const struct scheduler_client_ops *const schedulers[] = {SCHEDULER_LIST(POINTER, POINTER)};

const struct scheduler_client_ops *scheduler_client_find(const char *name)
{
	for (size_t i = 0; i < array_length(schedulers); i++) {
		if (str_equal(schedulers[i]->traits->name, name))
			return schedulers[i];
	}
	return NULL;
}

const struct scheduler_client_ops *scheduler_client_at(size_t index)
{
	return index < array_length(schedulers) ? schedulers[index] : NULL;
}

const struct scheduler_client_ops *scheduler_client_of_id(const char *id, struct history_days *days)
{
	struct history_days ignored;

	for (size_t i = 0; i < array_length(schedulers); i++) {
		if (schedulers[i]->is_id(id, days ? days : &ignored))
			return schedulers[i];
	}
	return NULL;
}

bool scheduler_client_begins_id(const char *text)
{
	for (size_t i = 0; i < array_length(schedulers); i++) {
		if (str_starts_with(text, schedulers[i]->id_beginning))
			return true;
	}
	return false;
}
