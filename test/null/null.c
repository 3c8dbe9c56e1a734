#include "null.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/timer.h"
#include "scheduler/local_history.h"
#include "scheduler/local_internal.h"
#include "scheduler/local_other.h"

enum { LOOK_MS = 10, TEXT_CAP = 4096 };

struct null_container {
	struct null_container *next;
	struct scheduler_request request;
	char *name; /* "worker-0-1" */
	bool is_told, is_unwanted, has_ended;
};

struct null {
	struct scheduler scheduler;
	struct scheduler_setup setup;
	struct null_container *containers; /* the newest first; of a task, the newest attempt */
	struct event *look;
};

const struct scheduler_traits null_traits = {
	.name = "null",
	.folder = "null",
	.one_host = true,
	.shares_files = true,
	.own_ids = true,
	.restarts_am = true,
	.starts_by_itself = true,
};

char *null_path(const char *job_dir, const char *verb, const char *container)
{
	return mem_printf("%s/api/%s%s", job_dir, verb, container);
}

int null_write(const char *job_dir, const char *verb, const char *container, const char *text,
	       struct err *err)
{
	char *path cleanup_free = null_path(job_dir, verb, container);

	return fs_write_volatile(path, text, strlen(text), 0600, err);
}

/* ---- containers --------------------------------------------------------------------------- */

/* `attempt` 0: the newest. */
static struct null_container *find(struct scheduler *scheduler, size_t task, int attempt)
{
	struct null_container *container = ((struct null *)scheduler)->containers;

	while (container && (container->request.task != task ||
			     (attempt > 0 && container->request.attempt != attempt)))
		container = container->next;
	return container;
}

static struct null_container *add(struct null *null, const struct scheduler_request *request)
{
	struct null_container *container = mem_alloc(sizeof(*container));

	*container = (struct null_container){.next = null->containers, .request = *request};
	container->name = mem_printf("%s-%d-%d", null->setup.job->types[request->type].name,
				     request->index, request->attempt);
	return null->containers = container;
}

static void tell_end(struct null *null, struct null_container *container, const char *how)
{
	const struct scheduler_listener *listener = &null->setup.listener;
	struct cause cause = {0};

	container->has_ended = true;
	if (!container->is_unwanted)
		cause_set(&cause, CAUSE_EXECUTOR_LOST, mem_printf("lost its executor: %s", how));
	listener->ended(listener->data, container->request.task, container->request.attempt,
			&cause);
	cause_finish(&cause);
}

/* Whether there was news. A container may end before it was ever told as allocated. */
static bool tell(struct null *null, struct null_container *container)
{
	const struct scheduler_listener *listener = &null->setup.listener;
	const struct scheduler_request *request = &container->request;
	const char *job_dir = null->setup.job_dir;
	char *allocated cleanup_free = null_path(job_dir, "allocated-", container->name);
	char *ended cleanup_free = null_path(job_dir, "ended-", container->name);

	if (container->has_ended)
		return false;
	char *how cleanup_free = fs_read_file(ended, TEXT_CAP, NULL, NULL);
	bool is_new =
		!container->is_told && !container->is_unwanted && (how || fs_exists(allocated));
	if (is_new)
		listener->allocated(listener->data, request->task, request->attempt,
				    container->name, LOCAL_HOST);
	else if (how)
		tell_end(null, container, how);
	container->is_told |= is_new;
	return is_new || how;
}

/* The AM, when it is told, may ask for more. */
static void on_look(int fd, short what, void *data)
{
	struct null *null = data;
	struct null_container *container = null->containers;

	while (container)
		container = tell(null, container) ? null->containers : container->next;
}

/* ---- for the AM --------------------------------------------------------------------------- */

static struct scheduler *open_null(const struct scheduler_setup *setup, struct err *err)
{
	struct null *null = mem_alloc(sizeof(*null));

	*null = (struct null){.scheduler.ops = &null_scheduler, .setup = *setup};
	null->look = event_new(setup->base, -1, EV_PERSIST, on_look, null);
	timer_start(null->look, LOOK_MS);
	return &null->scheduler;
}

static void request_all(struct scheduler *scheduler, const struct scheduler_request *requests,
			size_t count)
{
	struct null *null = (struct null *)scheduler;

	for (size_t i = 0; i < count; i++) {
		const struct scheduler_request *request = &requests[i];
		struct null_container *container = find(scheduler, request->task, request->attempt);
		char *task cleanup_free =
			job_task_name(null->setup.job, request->type, request->index);
		char *text cleanup_free =
			mem_printf("%s %d %s", task, request->attempt, null->setup.am_address);
		container = container ? container : add(null, request);
		null_write(null->setup.job_dir, "ask-", container->name, text, NULL);
	}
}

static void release(struct scheduler *scheduler, size_t task, int attempt, int64_t grace_ms)
{
	const struct null *null = (const struct null *)scheduler;
	struct null_container *container = find(scheduler, task, attempt);
	char *text cleanup_free = mem_printf("%lld", (long long)grace_ms);

	if (!container || container->has_ended)
		return;
	container->is_unwanted = true;
	null_write(null->setup.job_dir, "kill-", container->name, text, NULL);
}

static void cancel(struct scheduler *scheduler, size_t task, int attempt)
{
	release(scheduler, task, attempt, 0);
}

static void adopt(struct scheduler *scheduler, const struct scheduler_adoption *items, size_t count)
{
	struct null *null = (struct null *)scheduler;
	struct str names cleanup_str = {0};

	for (size_t i = 0; i < count; i++) {
		struct null_container *container = add(null, &items[i].request);
		container->is_told = items[i].container != NULL;
		if (items[i].is_asked || items[i].is_reachable)
			str_append_format(&names, "%s ", container->name);
	}
	null_write(null->setup.job_dir, "adopt", "", str_text(&names), NULL);
}

static char *log_path(struct scheduler *scheduler, size_t task, const char *name)
{
	const struct null *null = (const struct null *)scheduler;
	const struct null_container *newest = find(scheduler, task, 0);

	return newest ? mem_printf("%s/containers/%s/%s", null->setup.job_dir, newest->name, name)
		      : NULL;
}

bool null_is_held(const char *job_dir)
{
	char *over cleanup_free = null_path(job_dir, "over", "");

	return !fs_exists(over);
}

static bool look_at(struct scheduler *scheduler, const struct awaited *awaited,
		    struct scheduler_other *other, scheduler_on_other *done, void *data)
{
	const struct scheduler_setup *setup = &((struct null *)scheduler)->setup;

	local_other_look(setup->job, setup->job_dir, null_is_held, awaited, other);
	return true;
}

/* The engine kills what is left of an AM before it starts another one. */
static enum scheduler_standing standing(const struct scheduler *scheduler)
{
	return SCHEDULER_CURRENT;
}

/* The last guardian does all that is left. */
static bool finish(struct scheduler *scheduler, const struct scheduler_end *end,
		   void (*done)(void *data), void *data)
{
	return true;
}

static void close_null(struct scheduler *scheduler)
{
	struct null *null = (struct null *)scheduler;
	struct null_container *container;

	while ((container = null->containers)) {
		null->containers = container->next;
		free(container->name);
		free(container);
	}
	event_free(null->look);
	free(null);
}

/* ---- for the process in a container ------------------------------------------------------- */

/* Its programs see whose containers they are in. */
static int find_container(struct scheduler_container *container, struct err *err)
{
	setenv("NULL_CONTAINER", getenv("TONY_CONTAINER"), 1);
	return local_container_find(container, err);
}

const struct scheduler_ops null_scheduler = {
	.traits = &null_traits,
	.guardian = {.publish = local_history_conclude},
	.container = {.find = find_container},
	.find_place = local_find_place,
	.open = open_null,
	.adopt = adopt,
	.look_at = look_at,
	.request = request_all,
	.cancel = cancel,
	.release = release,
	.log_path = log_path,
	.standing = standing,
	.finish = finish,
	.close = close_null,
};
