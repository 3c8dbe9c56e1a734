#include "net/blocking.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "net/interrupt.h"

struct run {
	void (*call)(void *data);
	void (*forget)(void *data);
	void *data;
	int returned; /* an eventfd */
	pthread_mutex_t lock;
	bool has_returned, is_left;
};

static void free_run(struct run *run)
{
	close(run->returned);
	pthread_mutex_destroy(&run->lock);
	free(run);
}

static void *run_thread(void *data)
{
	struct run *run = data;

	run->call(run->data);
	pthread_mutex_lock(&run->lock);
	run->has_returned = true;
	const bool is_left = run->is_left;
	if (!is_left)
		eventfd_write(run->returned, 1);
	pthread_mutex_unlock(&run->lock);
	if (is_left) {
		run->forget(run->data);
		free_run(run);
	}
	return NULL;
}

/* With every signal blocked: those of the process are for the loop. */
static bool start(struct run *run)
{
	pthread_t thread;
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	const bool is_started = pthread_create(&thread, NULL, run_thread, run) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (is_started)
		pthread_detach(thread);
	return is_started;
}

/* Until it has returned, or a signal is pending and was for long enough. */
static void wait_for(struct run *run, int signals)
{
	const int64_t heard_ms = clock_monotonic_ms() + INTERRUPT_GRACE_MS;
	struct pollfd fds[] = {{.fd = run->returned, .events = POLLIN},
			       {.fd = signals, .events = POLLIN}};

	for (;;) {
		const int64_t left_ms = heard_ms - clock_monotonic_ms();
		const nfds_t count = left_ms > 0 ? 1 : 2;

		poll(fds, count, left_ms > 0 ? (int)left_ms : -1);
		if (fds[0].revents || (count == 2 && fds[1].revents))
			return;
	}
}

bool blocking_run(void (*call)(void *data), void (*forget)(void *data), void *data)
{
	int signals cleanup_close = interrupt_open();
	struct run *run = signals < 0 ? NULL : mem_alloc(sizeof(*run));

	if (run) {
		*run = (struct run){.call = call,
				    .forget = forget,
				    .data = data,
				    .returned = eventfd(0, EFD_CLOEXEC)};
		pthread_mutex_init(&run->lock, NULL);
	}
	if (!run || run->returned < 0 || !start(run)) {
		if (run)
			free_run(run);
		call(data);
		return true;
	}
	wait_for(run, signals);
	pthread_mutex_lock(&run->lock);
	const bool has_returned = run->has_returned;
	run->is_left = !has_returned;
	pthread_mutex_unlock(&run->lock);
	if (has_returned)
		free_run(run);
	return has_returned;
}
