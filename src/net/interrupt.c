#include "net/interrupt.h"

#include <event2/event.h>
#include <event2/event_struct.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/timer.h"

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};

bool interrupt_is_pending(void)
{
	sigset_t pending;

	sigpending(&pending);
	for (size_t i = 0; i < array_length(numbers); i++)
		if (sigismember(&pending, numbers[i]) == 1)
			return true;
	return false;
}

int interrupt_open(void)
{
	sigset_t blocked, set;
	bool any = false;

	sigemptyset(&set);
	sigprocmask(SIG_BLOCK, NULL, &blocked);
	for (size_t i = 0; i < array_length(numbers); i++) {
		if (sigismember(&blocked, numbers[i]) != 1)
			continue;
		sigaddset(&set, numbers[i]);
		any = true;
	}
	return any ? signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC) : -1;
}

struct wait {
	struct event_base *base;
	struct event signals, grace;
	bool is_cut;
};

static void on_signal(evutil_socket_t fd, short what, void *data)
{
	struct wait *wait = data;

	wait->is_cut = true;
	event_base_loopbreak(wait->base);
}

static void on_grace(evutil_socket_t fd, short what, void *data)
{
	struct wait *wait = data;

	event_add(&wait->signals, NULL);
}

bool interrupt_dispatch(struct event_base *base)
{
	int fd cleanup_close = interrupt_open();
	struct wait wait = {.base = base};

	if (fd < 0) {
		event_base_dispatch(base);
		return true;
	}
	event_assign(&wait.signals, base, fd, EV_READ, on_signal, &wait);
	event_assign(&wait.grace, base, -1, 0, on_grace, &wait);
	timer_start(&wait.grace, INTERRUPT_GRACE_MS);
	event_base_dispatch(base);
	event_del(&wait.signals);
	event_del(&wait.grace);
	return !wait.is_cut;
}

int interrupt_set(struct err *err, const char *what)
{
	return err_set(err, ERR_INTERRUPTED, "%s: interrupted before an answer came", what);
}
