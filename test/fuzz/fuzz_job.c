/* Any bytes as a job.json: what is taken is within all limits, and is written and read again to
 * the same bytes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "job/job.h"

static void check_type(const struct job *job, const struct job_type *type)
{
	if (type->name[0] < 'a' || type->name[0] > 'z' || strchr(type->name, '/'))
		abort();
	for (size_t i = 0; i < type->dependency_count; i++)
		if (type->dependencies[i].type >= job->type_count)
			abort();
	for (size_t i = 0; i < type->files.count; i++)
		if (type->files.items[i].name[0] == '/' ||
		    str_starts_with(type->files.items[i].name, "../") ||
		    strstr(type->files.items[i].name, "/../"))
			abort();
}

static void check_job(const struct job *job)
{
	if (job_task_count(job) < 1 || job_task_count(job) > JOB_MAX_TASKS)
		abort();
	if (strchr(job->id, '/') || job->heartbeat_interval_ms < 1)
		abort();
	for (size_t i = 0; i < job->type_count; i++)
		check_type(job, &job->types[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct err err cleanup_err = {0};
	struct job *job = job_from_text((const char *)bytes, length, &err);

	if ((job == NULL) != (err.kind == ERR_INPUT))
		abort();
	if (!job)
		return 0;
	check_job(job);
	char *text cleanup_free = job_to_text(job);
	struct job *again = job_from_text(text, strlen(text), NULL);
	char *text_again cleanup_free = job_to_text(again);
	if (strcmp(text, text_again) != 0)
		abort();
	job_destroy(again);
	job_destroy(job);
	return 0;
}
