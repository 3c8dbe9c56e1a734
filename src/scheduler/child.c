#include "scheduler/child.h"

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/wait.h>

#include "base/mem.h"

static int reap(pid_t pid)
{
	int status = 0;
	pid_t result;

	do
		result = waitpid(pid, &status, 0);
	while (result < 0 && errno == EINTR);
	return status;
}

static void forget(struct child *child)
{
	if (child->event)
		event_free(child->event);
	mem_cleanup_close(&child->fd);
	child->event = NULL;
	child->fd = -1;
	child->pid = 0;
}

static void on_end(int fd, short what, void *data)
{
	struct child *child = data;
	int status = reap(child->pid);

	forget(child);
	child->ended(child->data, status);
}

int child_watch(struct child *child, struct event_base *base, pid_t pid,
		void (*ended)(void *data, int status), void *data, struct err *err)
{
	*child = (struct child){.pid = pid, .ended = ended, .data = data};
	child->fd = pidfd_open(pid, 0);
	if (child->fd < 0) {
		err_set_errno(err, "pidfd_open");
		child_kill(child);
		return -1;
	}
	child->event = event_new(base, child->fd, EV_READ, on_end, child);
	if (!child->event || event_add(child->event, NULL) < 0) {
		err_set(err, ERR_FAILED, "cannot watch process %d", (int)pid);
		child_kill(child);
		return -1;
	}
	return 0;
}

void child_kill(struct child *child)
{
	if (child->pid == 0)
		return;
	kill(child->pid, SIGKILL);
	reap(child->pid);
	forget(child);
}
