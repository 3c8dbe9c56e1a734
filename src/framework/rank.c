#include "framework/rank.h"

#include <stdlib.h>

#include "base/mem.h"

/* A finished prepare stage is tracked, but no longer there to answer. */
static bool is_counted(const struct job *job, const struct cluster *cluster, size_t type)
{
	return job->types[type].role == JOB_ROLE_TRACKED && cluster->types[type].count > 0;
}

/* The type of rank 0, or type_count when there is none. */
static size_t first_type(const struct job *job, const struct cluster *cluster)
{
	const char *const preferred[] = {job->chief ? job->chief : "chief", "worker"};
	size_t type = 0;

	for (size_t i = 0; i < sizeof(preferred) / sizeof(*preferred); i++) {
		int found = job_find_type(job, preferred[i]);
		if (found >= 0 && is_counted(job, cluster, (size_t)found))
			return (size_t)found;
	}
	while (type < job->type_count && !is_counted(job, cluster, type))
		type++;
	return type;
}

size_t *rank_order(const struct job *job, const struct cluster *cluster, size_t *count)
{
	size_t *order = mem_alloc_array(job->type_count, sizeof(*order));
	size_t first = first_type(job, cluster);

	*count = 0;
	if (first < job->type_count)
		order[(*count)++] = first;
	for (size_t type = 0; type < job->type_count; type++)
		if (type != first && is_counted(job, cluster, type))
			order[(*count)++] = type;
	return order;
}

static void count_type(const struct framework_task *task, size_t type, struct rank *rank)
{
	int containers = (int)task->cluster->types[type].count;
	int processes = task->job->types[type].processes;

	if (type == task->type) {
		rank->role = task->index * processes + task->process;
		rank->role_world = containers * processes;
		rank->rank = rank->world + rank->role;
		rank->group = rank->group_world + task->index;
	}
	rank->world += containers * processes;
	rank->group_world += containers;
}

bool rank_find(const struct framework_task *task, struct rank *rank)
{
	size_t count, *order cleanup_free = rank_order(task->job, task->cluster, &count);

	*rank = (struct rank){0};
	if (count == 0)
		return false;
	rank->master = &task->cluster->types[order[0]].addresses[0];
	for (size_t i = 0; i < count; i++)
		count_type(task, order[i], rank);
	return is_counted(task->job, task->cluster, task->type);
}

int rank_check(const struct job *job, const char *who,
	       int (*check_type)(const struct job_type *type, struct err *err), struct err *err)
{
	bool has_rank = false;

	if (job->mode != JOB_MODE_GANG)
		return err_set(
			err, ERR_CONFIG,
			"tony.application.distributed-mode: \"FCFS\": %s need the address of "
			"rank 0 when they start; use GANG",
			who);
	for (size_t i = 0; i < job->type_count; i++)
		has_rank |= job->types[i].role == JOB_ROLE_TRACKED && job->types[i].instances > 0;
	if (!has_rank)
		return err_set(err, ERR_CONFIG,
			       "tony.application.untracked.jobtypes: every task is untracked, so "
			       "no one trains; leave one type, such as worker, out of it");
	for (size_t i = 0; check_type && i < job->type_count; i++)
		if (job->types[i].role == JOB_ROLE_TRACKED && check_type(&job->types[i], err) < 0)
			return -1;
	return 0;
}
