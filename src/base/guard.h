/*
 * The guardian pair: a process that ends everything below it even when it is killed itself.
 *
 *   guardian (parent, subreaper) -- worker (child, subreaper) -- what the worker starts
 *
 * The guardian does nothing but wait for the worker and pass signals on, the worker does the work.
 * Each notices the other's death at once, and the survivor ends the whole tree: descendants, and
 * whatever carries the mark in its environment. The worker has a process group of its own: a
 * kill of the guardian's leaves it to notice, even if it was stopped. Needs fork, pipes and /proc
 * only (no pidfd).
 */
#ifndef TONY_BASE_GUARD_H
#define TONY_BASE_GUARD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct guard {
	bool is_worker;
	const char *mark; /* borrowed */
	/* A mark of trees that are not ended with the others; NULL: none. Borrowed; set between
	 * guard_open() and guard_fork(). */
	const char *spared;

	/* In the worker: */
	pid_t guardian; /* to be spared when the worker ends processes by mark */
	int fd;		/* becomes readable (end of file) when the guardian is gone */

	/* In the guardian, where guard_start() returns only after the worker has ended: */
	int exit_code; /* the worker's; 128 + signal when it was killed */
	int signal;    /* that killed the worker; 0: it left by itself */
	int passed;    /* the last signal passed on to a worker; 0: none */

	bool has_survivors; /* of what was ended at last: they sleep uninterruptibly */

	/* Its own: */
	sigset_t before; /* signals blocked before there was a pair */
	char name[16];	 /* the process's, as the kernel keeps it */
};

/*
 * Forks. In the worker (guard->is_worker) it returns at once, with signals as they were before; the
 * worker watches guard->fd and calls guard_end_tree() when that becomes readable. In the guardian
 * it returns when the worker has ended and everything below is gone: what is left to do is a last
 * record and to exit with guard->exit_code. SIGTERM, SIGINT, SIGHUP and SIGQUIT to the guardian are
 * passed to the worker, and stay blocked in the guardian. Call it early (the guardian keeps the
 * memory and descriptors of this moment) and in a process with one thread and no children. `mark`
 * ("TONY_CONTAINER=...", NULL: none) must outlive the guard. -1: nothing was started.
 */
int guard_start(const char *mark, struct guard *guard, struct err *err);

/*
 * guard_start() in its parts, for a guardian that may fork another worker where one was killed.
 * guard_open() comes first, guard_finish() last, in the guardian, which stays one from then on:
 * guard_fork() returns there when its worker has ended, with all that this one left behind.
 */
int guard_open(const char *mark, struct guard *guard, struct err *err);
int guard_fork(struct guard *guard, struct err *err);
void guard_finish(struct guard *guard);
/* Before a worker that is done exits: ends what it has left below it. */
void guard_leave(struct guard *guard);

/* Ends with SIGKILL everything below the caller and all that carries the mark, but neither the
 * caller nor its guardian nor what these descend from. -1 when something survives (uninterruptible
 * sleep). */
int guard_end_tree(const struct guard *guard);

#endif
