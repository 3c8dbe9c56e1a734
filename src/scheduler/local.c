#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "hadoop/token_file.h"
#include "scheduler/gang.h"
#include "scheduler/local.h"
#include "scheduler/local_child.h"
#include "scheduler/local_end.h"
#include "scheduler/local_history.h"
#include "scheduler/local_internal.h"
#include "scheduler/local_other.h"
#include "scheduler/state_dir.h"

static struct local *local_of(struct scheduler *scheduler)
{
	return (struct local *)scheduler;
}

static struct container *find_container(struct local *local, size_t task, int attempt)
{
	struct container *container = task < local->task_count ? local->tasks[task].newest : NULL;

	while (container && container->request.attempt != attempt)
		container = container->older;
	return container;
}

struct container *local_container_add(struct local *local, const struct scheduler_request *request)
{
	const char *type = local->job->types[request->type].name;
	struct local_task *task = &local->tasks[request->task];
	struct container *container = mem_alloc(sizeof(*container));

	*container = (struct container){.local = local, .request = *request};
	container->name = mem_printf("%s-%d-%d", type, request->index, request->attempt);
	container->dir = mem_printf("%s/containers/%s", local->job_dir, container->name);
	container->mark = mem_printf("%s/%s", local->job->id, container->name);
	container->older = task->newest;
	task->newest = container;
	TAILQ_INSERT_TAIL(&local->containers, container, link);
	return container;
}

static void free_container(struct container *container)
{
	struct local *local = container->local;
	struct container **slot = &local->tasks[container->request.task].newest;

	while (*slot != container)
		slot = &(*slot)->older;
	*slot = container->older;
	TAILQ_REMOVE(&local->containers, container, link);
	if (container->has_news)
		TAILQ_REMOVE(&local->news, container, news_link);
	if (container->grace)
		event_free(container->grace);
	cause_finish(&container->cause);
	str_list_finish(&container->gpus);
	free(container->refusal);
	free(container->cgroup);
	free(container->name);
	free(container->mark);
	free(container->dir);
	free(container);
}

/* ---- telling the AM ----------------------------------------------------------------------- */

void local_pump_soon(struct local *local)
{
	event_active(local->pump, EV_TIMEOUT, 0);
}

void local_add_news(struct container *container)
{
	struct local *local = container->local;

	if (!container->has_news)
		TAILQ_INSERT_TAIL(&local->news, container, news_link);
	container->has_news = true;
	local_pump_soon(local);
}

static void tell(struct local *local, struct container *container)
{
	const struct scheduler_listener *listener = &local->listener;
	size_t task = container->request.task;
	int attempt = container->request.attempt;

	switch (container->state) {
	case CONTAINER_ALLOCATED:
		listener->allocated(listener->data, task, attempt, container->name, LOCAL_HOST);
		return;
	case CONTAINER_REFUSED:
		listener->refused(listener->data, task, attempt, container->refusal);
		break;
	case CONTAINER_ENDED:
		listener->ended(listener->data, task, attempt, &container->cause);
		break;
	case CONTAINER_ASKED:
	case CONTAINER_RUNNING:
		BUG("%s: nothing to tell in state %d", container->mark, (int)container->state);
	}
	free_container(container);
}

/* The ends are told before the ledger is settled: what the AM asks for in answer to them is then
 * settled together with what they gave back, and no other job comes between. */
static void tell_news(struct local *local)
{
	struct container *container;

	while ((container = TAILQ_FIRST(&local->news))) {
		TAILQ_REMOVE(&local->news, container, news_link);
		container->has_news = false;
		tell(local, container);
	}
}

static void on_pump(int fd, short what, void *data)
{
	struct local *local = data;

	tell_news(local);
	local_queue_settle(local);
}

/* ---- the entry in the ledger of all users -------------------------------------------------- */

static void on_removed(int fd, short what, void *data)
{
	char bytes[sizeof(struct inotify_event) + NAME_MAX + 1];

	while (read(fd, bytes, sizeof(bytes)) > 0)
		;
	local_pump_soon(data);
}

static void stop_watching(struct local *local)
{
	if (!local->removed)
		return;
	if (event_get_fd(local->removed) >= 0)
		close(event_get_fd(local->removed));
	event_free(local->removed);
}

void local_watch_shared(struct local *local)
{
	static const struct timeval second = {.tv_sec = 1};

	stop_watching(local);
	int fd = shared_ledger_watch(local->shared);
	/* A user's watches are counted: without one it is looked at by the clock. */
	local->removed = event_new(local->base, fd, fd < 0 ? EV_PERSIST : EV_READ | EV_PERSIST,
				   on_removed, local);
	event_add(local->removed, fd < 0 ? &second : NULL);
}

/* ---- the interface ------------------------------------------------------------------------ */

static void close_local(struct scheduler *scheduler)
{
	struct local *local = local_of(scheduler);
	struct container *container;

	local_finish_destroy(local->finish);
	local_children_forget(local);
	while ((container = TAILQ_FIRST(&local->containers))) {
		container_kill(container);
		free_container(container);
	}
	if (local->ledger)
		local_queue_close(local);
	ledger_close(local->ledger);
	stop_watching(local);
	shared_ledger_close(local->shared);
	neighbours_finish(&local->neighbours);
	if (local->pump)
		event_free(local->pump);
	for (size_t i = 0; i < local->task_count; i++)
		free(local->tasks[i].last_name);
	free(local->tasks);
	cgroup_home_finish(&local->home);
	capacity_finish(&local->capacity);
	free(local->job_dir);
	free(local->am_address);
	free(local);
}

static void open_shared(struct local *local)
{
	struct err err cleanup_err = {0};
	char *directory cleanup_free = shared_ledger_find(&err);

	if (local->shared_hold < 0)
		return;
	if (!directory) {
		log_warning("%s", err_message(&err));
		return;
	}
	local->shared = shared_ledger_open(directory, local->job->user, local->shared_hold);
	local_watch_shared(local);
}

static struct scheduler *open_local(const struct scheduler_setup *setup, struct err *err)
{
	const struct job *job = setup->job;
	char *ledger cleanup_free = state_dir_ledger(setup->job_dir);
	const int *held = setup->hold->fds;
	struct local *local = mem_alloc(sizeof(*local));

	*local = (struct local){.scheduler.ops = &local_scheduler,
				.job = job,
				.job_dir = mem_strdup(setup->job_dir),
				.am_address = mem_strdup(setup->am_address),
				.am_attempt = setup->place->am_attempt,
				.lifeline = held[LOCAL_HOLD_LIFELINE],
				.shared_hold = held[LOCAL_HOLD_SHARED],
				.base = setup->base,
				.listener = setup->listener,
				.task_count = job_task_count(job)};
	LIST_INIT(&local->children);
	TAILQ_INIT(&local->containers);
	TAILQ_INIT(&local->news);
	TAILQ_INIT(&local->asks);
	local->tasks = mem_alloc_array(local->task_count, sizeof(*local->tasks));
	if (capacity_find("", 0, job->config, &local->capacity, err) < 0)
		goto fail;
	cgroup_find_home("", &local->home);
	local->ledger = ledger_open(ledger, job->id, held[LOCAL_HOLD_LEDGER], err);
	if (!local->ledger || local_queue_open(local, err) < 0)
		goto fail;
	open_shared(local);
	local->pump = evtimer_new(setup->base, on_pump, local);
	if (!local->pump) {
		err_set(err, ERR_FAILED, "no timer");
		goto fail;
	}
	return &local->scheduler;
fail:
	close_local(&local->scheduler);
	return NULL;
}

static void refuse(struct local *local, const struct scheduler_request *requests, size_t count,
		   const char *text)
{
	for (size_t i = 0; i < count; i++) {
		struct container *container = local_container_add(local, &requests[i]);
		container->state = CONTAINER_REFUSED;
		container->refusal = mem_strdup(text);
		local_add_news(container);
	}
}

static void ask(void *data, const struct scheduler_request *requests, size_t count)
{
	struct local *local = data;
	char *text cleanup_free = gang_refusal(local->job, &local->capacity, requests, count);
	struct container **containers cleanup_free = mem_alloc_array(count, sizeof(*containers));

	if (text) {
		refuse(local, requests, count, text);
		return;
	}
	for (size_t i = 0; i < count; i++)
		containers[i] = local_container_add(local, &requests[i]);
	local_queue_add(local, containers, count);
	local_pump_soon(local);
}

static void request_containers(struct scheduler *scheduler,
			       const struct scheduler_request *requests, size_t count)
{
	struct local *local = local_of(scheduler);

	gang_ask_all(local->job, requests, count, ask, local);
}

static void cancel(struct scheduler *scheduler, size_t task, int attempt)
{
	struct local *local = local_of(scheduler);
	struct container *container = find_container(local, task, attempt);

	if (!container)
		return;
	if (container->state == CONTAINER_ASKED)
		local_queue_remove(container);
	else if (!container->has_news || container->state == CONTAINER_ENDED)
		return; /* the AM knows of it, or of its end: that is what release() is for */
	free_container(container);
	local_pump_soon(local);
}

static void launch(struct scheduler *scheduler, const struct scheduler_launch *order)
{
	struct local *local = local_of(scheduler);
	struct container *container = find_container(local, order->task, order->attempt);

	if (!container || container->state != CONTAINER_ALLOCATED)
		return;
	mem_replace(&local->tasks[order->task].last_name, mem_strdup(container->name));
	container_launch(container, order);
}

static void release(struct scheduler *scheduler, size_t task, int attempt, int64_t grace_ms)
{
	struct container *container = find_container(local_of(scheduler), task, attempt);

	if (container)
		container_release(container, grace_ms);
}

static char *log_path(struct scheduler *scheduler, size_t task, const char *name)
{
	const struct local *local = local_of(scheduler);
	const char *container = task < local->task_count ? local->tasks[task].last_name : NULL;

	if (!container || !*name || *name == '.' || strchr(name, '/'))
		return NULL;
	char *directory cleanup_free = mem_printf("%s/containers/%s", local->job_dir, container);
	return fs_is_directory(directory) ? fs_join(directory, name) : NULL;
}

static bool look_at(struct scheduler *scheduler, const struct awaited *awaited,
		    struct scheduler_other *other, scheduler_on_other *done, void *data)
{
	const struct local *local = local_of(scheduler);

	local_other_look(local->job, local->job_dir, state_dir_is_held, awaited, other);
	return true;
}

/* The AM and all executors have one file, which its AM has replaced by then. */
static int ignore_tokens(const void *bytes, size_t length, struct err *err)
{
	return 0;
}

static int take_tokens(struct scheduler *scheduler, const void *bytes, size_t length,
		       struct err *err)
{
	char *own cleanup_free = fs_join(local_of(scheduler)->job_dir, LOCAL_TOKENS_FILE);

	/* Else it is the file of the user who submitted the job. */
	if (!str_equal(token_file_path(), own))
		return err_set(err, ERR_INPUT, "the job has no tokens of other services");
	return token_file_take(bytes, length, err);
}

/* Whatever holds the history's place, the standard input does not wait for it. */
static void publish(const struct job *job, const char *job_dir)
{
	local_end_stdin(job_dir);
	local_history_conclude(job, job_dir);
}

const struct scheduler_ops local_scheduler = {
	.traits = &local_traits,
	.guardian = {.hold = local_hold, .clean = local_clean, .publish = publish},
	.container = {.find = local_container_find, .take_tokens = ignore_tokens},
	.find_place = local_find_place,
	.open = open_local,
	.adopt = local_adopt,
	.look_at = look_at,
	.start_child = local_child_start,
	.request = request_containers,
	.cancel = cancel,
	.launch = launch,
	.release = release,
	.log_path = log_path,
	.take_tokens = take_tokens,
	.finish = local_finish,
	.close = close_local,
};
