#include "client/task_channel.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* The only task of a job; NULL: `err`. The caller frees. */
static char *find_only(const struct opened *opened, struct err *err)
{
	if (opened->job->type_count == 1 && opened->job->types[0].instances == 1)
		return job_task_name(opened->job, 0, 0);
	err_set(err, ERR_USAGE, "%s has several tasks: name one, as in worker:0", opened->id);
	return NULL;
}

static char *find_named(const struct opened *opened, const char *task, struct err *err)
{
	if (!task)
		return find_only(opened, err);
	return opened_check_one_task(opened, task, err) == 0 ? mem_strdup(task) : NULL;
}

char *task_channel_find(struct opened *opened, const struct str_list *operands, size_t count,
			struct err *err)
{
	const char *first = count > 0 ? operands->items[0] : NULL;
	const char *slash =
		count == 1 ? strrchr(first, '/') : NULL; /* JOB/TASK, as tony cp has it */
	bool is_both = slash && opened_is_task(slash + 1);
	bool is_alone = count == 1 && !is_both && opened_is_task(first);
	char *id cleanup_free = is_both	   ? mem_strndup(first, (size_t)(slash - first))
				: is_alone ? NULL
					   : mem_strdup(first);
	const char *task = count == 2 ? operands->items[1]
			   : is_both  ? slash + 1
			   : is_alone ? first
				      : NULL;

	if (opened_find(opened, id, err) < 0)
		return NULL;
	char *name cleanup_free = find_named(opened, task, err);
	if (!name)
		return NULL;
	if (opened->view->is_final)
		opened_say_ended(opened, err);
	else if (!opened->door.address)
		err_set(err, ERR_UNREACHABLE, "%s has no running application master", opened->id);
	else
		return mem_steal(&name);
	return NULL;
}

struct channel *task_channel_open(const struct opened *opened, const char *task, const char *what,
				  struct channel_options options, struct err *err)
{
	char *path cleanup_free = mem_printf("/v1/tasks/%s/%s", task, what);

	options.target = job_door_target(&opened->door);
	options.path = path;
	return channel_open(&options, err);
}
