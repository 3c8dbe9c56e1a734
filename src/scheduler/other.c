#include "base/mem.h"
#include "scheduler/scheduler.h"

void scheduler_other_finish(struct scheduler_other *other)
{
	mem_replace(&other->message, NULL);
}
