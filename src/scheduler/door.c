#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "scheduler/scheduler.h"

void job_door_finish(struct job_door *door)
{
	free(door->job_dir);
	free(door->address);
	mem_free_secret(door->token);
	free(door->identity);
	free(door->user);
	free(door->doubt);
	free(door->queue);
	free(door->waiting);
	free(door->end_message);
	err_finish(&door->undescribed);
	if (door->claim > 0)
		close(door->claim);
	*door = (struct job_door){0};
}

struct http_target job_door_target(const struct job_door *door)
{
	return (struct http_target){door->address, door->token, door->owner, door->is_sealed,
				    door->identity};
}

int job_door_call(const struct job_door *door, const char *method, const char *path,
		  const char *body, int64_t timeout_ms, int *status, struct str *response,
		  struct err *err)
{
	const struct http_target am = job_door_target(door);

	return http_call(&am, method, path, body, timeout_ms, status, response, err);
}

void job_summary_finish(struct job_summary *job)
{
	free(job->id);
	free(job->name);
	free(job->user);
	free(job->framework);
	free(job->owner);
	free(job->scheduler);
	free(job->queue);
	free(job->message);
	free(job->waiting);
	free(job->parent);
	str_list_finish(&job->tags);
	*job = (struct job_summary){0};
}

void job_summary_copy(const struct job_summary *from, struct job_summary *to)
{
	*to = *from;
	to->id = mem_strdup(from->id);
	to->name = mem_strdup(from->name);
	to->user = mem_strdup(from->user);
	to->framework = mem_strdup(from->framework);
	to->owner = mem_strdup(from->owner);
	to->scheduler = mem_strdup(from->scheduler);
	to->queue = mem_strdup(from->queue);
	to->message = mem_strdup(from->message);
	to->waiting = mem_strdup(from->waiting);
	to->parent = mem_strdup(from->parent);
	to->tags = (struct str_list){0};
	str_list_copy(&to->tags, &from->tags);
}

void job_summaries_free(struct job_summary *jobs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		job_summary_finish(&jobs[i]);
	free(jobs);
}

static int newest_first(const void *left, const void *right)
{
	const struct job_summary *a = left, *b = right;

	if (a->submitted_ms != b->submitted_ms)
		return a->submitted_ms < b->submitted_ms ? 1 : -1;
	return strcmp(b->id, a->id);
}

void job_summaries_sort(struct job_summary *jobs, size_t count)
{
	if (count > 1)
		qsort(jobs, count, sizeof(*jobs), newest_first);
}
