/* The end of a local job: its history is brought to its place by a process of its own, since a file
 * system may take long or for ever. The guardian does the rest (local_hold.c). */
#include <event2/event.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/timer.h"
#include "scheduler/child.h"
#include "scheduler/local_end.h"
#include "scheduler/local_history.h"
#include "scheduler/local_internal.h"

#define PUBLISH_MS (10 * 60 * 1000)

struct local_finish {
	struct child child;
	struct event *limit;
	void (*done)(void *data);
	void *data;
};

static void on_published(void *data, int status)
{
	struct local_finish *finish = data;

	event_del(finish->limit);
	finish->done(finish->data);
}

static void on_limit(evutil_socket_t fd, short what, void *data)
{
	struct local_finish *finish = data;

	log_warning("the history is not published after %d minutes: given up", PUBLISH_MS / 60000);
	child_kill(&finish->child);
	finish->done(finish->data);
}

static _Noreturn void publish(const struct local *local, const char *history)
{
	struct err err cleanup_err = {0};
	int failed = local_history_publish(local->job, local->job_dir, history, &err);

	if (failed)
		log_warning("%s", err_message(&err));
	_exit(failed ? 1 : 0);
}

/* False: nothing goes on. */
static bool start(struct local *local, const char *history)
{
	struct local_finish *finish = local->finish;
	struct err err cleanup_err = {0};
	pid_t pid = history ? fork() : 0;

	if (!history)
		return false;
	if (pid == 0)
		publish(local, history);
	if (pid < 0)
		err_set_errno(&err, "fork");
	else if (child_watch(&finish->child, local->base, pid, on_published, finish, &err) == 0)
		return true;
	log_warning("the history is not published: %s", err_message(&err));
	return false;
}

bool local_finish(struct scheduler *scheduler, const struct scheduler_end *end,
		  void (*done)(void *data), void *data)
{
	struct local *local = (struct local *)scheduler;
	struct local_finish *finish = mem_alloc(sizeof(*finish));

	*finish = (struct local_finish){.done = done, .data = data};
	finish->limit = evtimer_new(local->base, on_limit, finish);
	if (!finish->limit)
		BUG("no timer");
	local->finish = finish;
	local_end_stdin(local->job_dir);
	if (!start(local, end->history))
		return true;
	timer_start(finish->limit, PUBLISH_MS);
	return false;
}

void local_finish_destroy(struct local_finish *finish)
{
	if (!finish)
		return;
	child_kill(&finish->child);
	event_free(finish->limit);
	free(finish);
}
