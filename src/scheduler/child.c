#include "scheduler/child.h"

#include <errno.h>
#include <event2/event.h>
#include <poll.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/wait.h>

#include "base/mem.h"

/* Waits for it. */
static int reap(const struct child *child)
{
	struct pollfd end = {.fd = child->fd, .events = POLLIN};
	int status = 0, result;

	do
		result = child->is_adopted ? poll(&end, 1, -1) : waitpid(child->pid, &status, 0);
	while (result < 0 && errno == EINTR);
	return status;
}

void child_forget(struct child *child)
{
	if (child->pid == 0)
		return;
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
	int status = reap(child);

	child_forget(child);
	child->ended(child->data, status);
}

static int watch(struct child *child, struct event_base *base, struct err *err)
{
	child->event = event_new(base, child->fd, EV_READ, on_end, child);
	if (!child->event || event_add(child->event, NULL) < 0)
		return err_set(err, ERR_FAILED, "cannot watch process %d", (int)child->pid);
	return 0;
}

int child_watch(struct child *child, struct event_base *base, pid_t pid,
		void (*ended)(void *data, int status), void *data, struct err *err)
{
	*child = (struct child){.pid = pid, .ended = ended, .data = data};
	child->fd = pidfd_open(pid, 0);
	if (child->fd < 0)
		err_set_errno(err, "pidfd_open");
	else if (watch(child, base, err) == 0)
		return 0;
	child_kill(child);
	return -1;
}

int child_adopt(struct child *child, struct event_base *base, const struct proc_id *id,
		void (*ended)(void *data, int status), void *data, struct err *err)
{
	*child = (struct child){.pid = id->pid, .is_adopted = true, .ended = ended, .data = data};
	child->fd = pidfd_open(id->pid, 0);
	int error = errno;
	/* What is open stays the process that it is. */
	if (child->fd >= 0 && proc_is_alive(id)) {
		if (watch(child, base, err) == 0)
			return 0;
		child_kill(child);
		return -1;
	}
	bool is_gone = child->fd >= 0 || error == ESRCH;
	child_forget(child);
	errno = error;
	return is_gone ? 1 : err_set_errno(err, "pidfd_open");
}

void child_signal(const struct child *child, int signal)
{
	if (child->pid == 0)
		return;
	if (child->fd >= 0)
		pidfd_send_signal(child->fd, signal, NULL, 0);
	else
		kill(child->pid, signal); /* not yet waited for */
}

void child_kill(struct child *child)
{
	if (child->pid == 0)
		return;
	child_signal(child, SIGKILL);
	reap(child);
	child_forget(child);
}
