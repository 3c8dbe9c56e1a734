#include <stdlib.h>
#include <unistd.h>

#include "net/http_client.h"
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

int job_door_call(const struct job_door *door, const char *method, const char *path,
		  const char *body, int64_t timeout_ms, int *status, struct str *response,
		  struct err *err)
{
	const struct http_target am = {door->address, door->token, door->owner};

	return http_call(&am, method, path, body, timeout_ms, status, response, err);
}

void job_summaries_free(struct job_summary *jobs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(jobs[i].id);
		free(jobs[i].name);
		free(jobs[i].user);
		free(jobs[i].framework);
		free(jobs[i].scheduler);
		free(jobs[i].queue);
		str_list_finish(&jobs[i].tags);
		free(jobs[i].message);
	}
	free(jobs);
}
