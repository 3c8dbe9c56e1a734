#include "framework/rank.h"

/* A finished prepare stage is tracked, but no longer there to answer. */
static bool is_counted(const struct framework_task *task, size_t type)
{
	return task->job->types[type].role == JOB_ROLE_TRACKED &&
	       task->cluster->types[type].count > 0;
}

/* The type of rank 0, or type_count when there is none. */
static size_t first_type(const struct framework_task *task)
{
	static const char *const preferred[] = {"chief", "worker"};
	size_t count = task->job->type_count, type = 0;

	for (size_t i = 0; i < sizeof(preferred) / sizeof(*preferred); i++) {
		int found = job_find_type(task->job, preferred[i]);
		if (found >= 0 && is_counted(task, (size_t)found))
			return (size_t)found;
	}
	while (type < count && !is_counted(task, type))
		type++;
	return type;
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
	size_t first = first_type(task);

	*rank = (struct rank){0};
	if (first == task->job->type_count)
		return false;
	rank->master = &task->cluster->types[first].addresses[0];
	count_type(task, first, rank);
	for (size_t type = 0; type < task->job->type_count; type++)
		if (type != first && is_counted(task, type))
			count_type(task, type, rank);
	return is_counted(task, task->type);
}
