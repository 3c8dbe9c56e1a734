#include <stdlib.h>
#include <unistd.h>

#include "scheduler/scheduler.h"

void job_door_finish(struct job_door *door)
{
	free(door->job_dir);
	free(door->address);
	free(door->token);
	if (door->claim > 0)
		close(door->claim);
	*door = (struct job_door){0};
}
