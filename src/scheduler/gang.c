#include "scheduler/gang.h"

#include "base/mem.h"

static bool is_of_gang(const struct job *job, const struct scheduler_request *request)
{
	return job->mode == JOB_MODE_GANG && !request->is_optional;
}

void gang_ask_all(const struct job *job, const struct scheduler_request *requests, size_t count,
		  gang_ask *ask, void *data)
{
	struct scheduler_request *gang cleanup_free = mem_alloc_array(count, sizeof(*gang));
	size_t together = 0;

	for (size_t i = 0; i < count; i++)
		if (is_of_gang(job, &requests[i]))
			gang[together++] = requests[i];
	if (together > 0)
		ask(data, gang, together);
	for (size_t i = 0; i < count; i++)
		if (!is_of_gang(job, &requests[i]))
			ask(data, &requests[i], 1);
}

/* What all of these need together. */
static struct share sum_requests(const struct job *job, const struct scheduler_request *requests,
				 size_t count)
{
	struct share sum = {0};

	for (size_t i = 0; i < count; i++) {
		struct share one = share_of_type(&job->types[requests[i].type]);
		share_add(&sum, &one);
	}
	return sum;
}

static char *refuse_one(const struct job *job, const struct capacity *capacity,
			const struct scheduler_request *request)
{
	const struct job_type *type = &job->types[request->type];
	struct share need = share_of_type(type);
	const char *resource;
	char *why cleanup_free = capacity_refusal(capacity, &need, &resource);

	return why ? mem_printf("%s:%d needs %s; lower tony.%s.%s", type->name, request->index, why,
				type->name, resource)
		   : NULL;
}

static char *refuse_all(const struct job *job, const struct capacity *capacity,
			const struct scheduler_request *requests, size_t count)
{
	struct share need = sum_requests(job, requests, count);
	const char *resource;
	char *why cleanup_free = capacity_refusal(capacity, &need, &resource);
	size_t *counts cleanup_free = mem_alloc_array(job->type_count, sizeof(*counts));
	struct str_list parts cleanup_str_list = {0};
	const char *type = NULL; /* the last one */

	if (!why)
		return NULL;
	for (size_t i = 0; i < count; i++)
		counts[requests[i].type]++;
	for (size_t i = 0; i < job->type_count; i++) {
		if (counts[i] == 0)
			continue;
		type = job->types[i].name;
		str_list_add_format(&parts, "%s x %zu", type, counts[i]);
	}
	char *members cleanup_free = str_list_join(&parts, ", ");
	return mem_printf("%zu task%s that run together (%s) need %s; ask for "
			  "fewer, or lower tony.%s.%s",
			  count, str_plural(count), members, why, parts.count == 1 ? type : "TYPE",
			  resource);
}

char *gang_refusal(const struct job *job, const struct capacity *capacity,
		   const struct scheduler_request *requests, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		/* All tasks of a type need the same. */
		if (i > 0 && requests[i].type == requests[i - 1].type)
			continue;
		char *text = refuse_one(job, capacity, &requests[i]);
		if (text)
			return text;
	}
	return job->mode == JOB_MODE_GANG ? refuse_all(job, capacity, requests, count) : NULL;
}

/* A default can be more than a small machine has, as TensorBoard's two cores. The user never chose
 * it, so it refuses no job. */
static bool is_default(const struct job *job, const char *key)
{
	const json_t *row = json_object_get(job->config, key);

	return str_equal(json_string_value(json_object_get(row, "origin")), "default");
}

static char *refuse_cores(const struct job *job, const struct capacity *capacity)
{
	for (size_t i = 0; i < job->type_count; i++) {
		const struct job_type *type = &job->types[i];
		char *key cleanup_free = mem_printf("tony.%s.vcores", type->name);
		char *why cleanup_free = capacity_refusal_of_cores(capacity, type->vcores);
		if (why && type->instances > 0 && !is_default(job, key))
			return mem_printf("%s:0 needs %s; lower %s", type->name, why, key);
	}
	return NULL;
}

static size_t add_requests(const struct job *job, size_t type, bool wanted,
			   struct scheduler_request *requests)
{
	int count = wanted ? job->types[type].instances : job_type_minimum(&job->types[type]);

	for (int index = 0; index < count; index++)
		requests[index] = (struct scheduler_request){.type = type, .index = index};
	return (size_t)count;
}

char *gang_refusal_of_job(const struct job *job, const struct capacity *capacity, bool wanted)
{
	struct scheduler_request *requests cleanup_free =
		mem_alloc_array(job_task_count(job), sizeof(*requests));
	size_t together = 0;

	for (size_t i = 0; i < job->type_count; i++) {
		if (job->types[i].dependency_count == 0)
			together += add_requests(job, i, wanted, requests + together);
	}
	char *text = refuse_cores(job, capacity);
	if (!text)
		text = gang_refusal(job, capacity, requests, together);
	for (size_t i = 0; i < job->type_count && !text; i++) {
		if (job->types[i].dependency_count > 0)
			text = gang_refusal(job, capacity, requests,
					    add_requests(job, i, wanted, requests));
	}
	return text;
}
