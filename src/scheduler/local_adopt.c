/* Containers of an earlier AM of the job, which was killed. */
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "scheduler/launch_record.h"
#include "scheduler/local_internal.h"

/* "worker-0-1": the first attempt of worker:0. */
static bool parse_name(const struct local *local, const char *name,
		       struct scheduler_request *request)
{
	const char *attempt = strrchr(name, '-');
	const char *index = attempt ? memrchr(name, '-', (size_t)(attempt - name)) : NULL;
	int64_t number;

	if (!index || str_parse_int(attempt + 1, 1, INT_MAX, &number) < 0)
		return false;
	request->attempt = (int)number;
	char *type cleanup_free = mem_strndup(name, (size_t)(index - name));
	char *digits cleanup_free = mem_strndup(index + 1, (size_t)(attempt - index - 1));
	char *task cleanup_free = mem_printf("%s:%s", type, digits);
	int64_t found = job_find_task(local->job, task);
	if (found < 0 || str_parse_int(digits, 0, INT_MAX, &number) < 0)
		return false;
	request->task = (size_t)found;
	request->type = (size_t)job_find_type(local->job, type);
	request->index = (int)number;
	return true;
}

static bool is_known(const struct local *local, const struct scheduler_request *request)
{
	const struct container *container = local->tasks[request->task].newest;

	while (container && container->request.attempt != request->attempt)
		container = container->older;
	return container != NULL;
}

/* Those that the earlier AM was just about to be rid of. */
static void end_strangers(struct local *local)
{
	char *path cleanup_free = fs_join(local->job_dir, "containers");
	DIR *directory cleanup_dir = opendir(path);
	const struct dirent *entry;

	while (directory && (entry = readdir(directory))) {
		char *dir cleanup_free = fs_join(path, entry->d_name);
		struct scheduler_request request;
		if (!launch_record_is_open(dir) || !parse_name(local, entry->d_name, &request) ||
		    is_known(local, &request))
			continue;
		struct container *container = local_container_add(local, &request);
		container_adopt(container);
		container_release(container, 0);
	}
}

/* GPUs that the ledger says are the job's, and that none of its containers has. */
static void take_gpus(struct container *container)
{
	const struct local *local = container->local;
	const struct str_list *own = &ledger_own(local->ledger)->gpus;
	size_t wanted = (size_t)local->job->types[container->request.type].gpus;

	for (size_t i = 0; i < own->count && container->gpus.count < wanted; i++) {
		const struct container *each;
		bool is_taken = false;
		TAILQ_FOREACH(each, &local->containers, link)
		is_taken = is_taken || str_list_has(&each->gpus, own->items[i]);
		if (!is_taken)
			str_list_add(&container->gpus, own->items[i]);
	}
}

/* The earlier AM was killed before it could. */
static void launch(struct container *container)
{
	const struct local *local = container->local;
	const struct scheduler_request *request = &container->request;
	char *name cleanup_free = job_task_name(local->job, request->type, request->index);
	const struct scheduler_launch order = {.task = request->task,
					       .attempt = request->attempt,
					       .task_name = name,
					       .am_address = local->am_address};

	take_gpus(container);
	container_launch(container, &order);
}

void local_adopt(struct scheduler *scheduler, const struct scheduler_adoption *items, size_t count)
{
	struct local *local = (struct local *)scheduler;
	struct container *container;

	for (size_t i = 0; i < count; i++) {
		container = local_container_add(local, &items[i].request);
		mem_replace(&local->tasks[items[i].request.task].last_name,
			    mem_strdup(container->name));
		container_adopt(container);
	}
	end_strangers(local);
	TAILQ_FOREACH(container, &local->containers, link)
	{
		if (container->state == CONTAINER_ALLOCATED)
			launch(container);
	}
	local_pump_soon(local);
}
