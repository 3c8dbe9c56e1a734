/*
 * A child process whose end comes as an event, by pidfd: no SIGCHLD handler, so that nothing else
 * in the program that has children is disturbed. Nobody else may wait for these children.
 */
#ifndef TONY_SCHEDULER_CHILD_H
#define TONY_SCHEDULER_CHILD_H

#include <sys/types.h>

#include "base/err.h"

struct event;
struct event_base;

struct child {
	pid_t pid; /* 0: none, or it has ended */
	int fd;	   /* pidfd; valid while pid is not 0 */
	struct event *event;
	void (*ended)(void *data, int status); /* status as from waitpid(2) */
	void *data;
};

/* Watches `pid`, just forked; `ended` is called once, from the event loop. On failure the process
 * has been killed and reaped. The caller's memory must stay where it is until then. */
int child_watch(struct child *child, struct event_base *base, pid_t pid,
		void (*ended)(void *data, int status), void *data, struct err *err);

/* Kills and reaps it, without calling `ended`. Fine when there is none. */
void child_kill(struct child *child);

#endif
