#include "scheduler/scheduler.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "scheduler/local.h"
#include "scheduler/yarn.h"

static const struct scheduler_ops *const schedulers[] = {&local_scheduler, &yarn_scheduler};

const struct scheduler_ops *scheduler_find(const char *name)
{
	for (size_t i = 0; i < array_length(schedulers); i++) {
		if (str_equal(schedulers[i]->name, name))
			return schedulers[i];
	}
	return NULL;
}

void scheduler_place_finish(struct scheduler_place *place)
{
	if (place->token)
		explicit_bzero(place->token, strlen(place->token));
	free(place->token);
	free(place->journal);
	free(place->host);
	*place = (struct scheduler_place){0};
}
