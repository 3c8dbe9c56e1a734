/*
 * A process whose end comes as an event, by pidfd: no SIGCHLD handler, so that nothing else
 * in the program that has children is disturbed. Nobody else may wait for these children.
 */
#ifndef TONY_SCHEDULER_CHILD_H
#define TONY_SCHEDULER_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/proc.h"

struct event;
struct event_base;

struct child {
	pid_t pid;	 /* 0: none, or it has ended */
	int fd;		 /* pidfd; valid while pid is not 0 */
	bool is_adopted; /* another process's child */
	struct event *event;
	void (*ended)(void *data, int status); /* status as from waitpid(2) */
	void *data;
};

/* Watches `pid`, just forked; `ended` is called once, from the event loop. On failure the process
 * has been killed and reaped. The caller's memory must stay where it is until then. */
int child_watch(struct child *child, struct event_base *base, pid_t pid,
		void (*ended)(void *data, int status), void *data, struct err *err);

/* The same for a process that somebody else started, and waits for: `status` says nothing. 1: it is
 * gone already. */
int child_adopt(struct child *child, struct event_base *base, const struct proc_id *id,
		void (*ended)(void *data, int status), void *data, struct err *err);

/* It goes on, and its end is told to nobody. Fine when there is none. */
void child_forget(struct child *child);

/* Never another process that got its number. Fine when there is none. */
void child_signal(const struct child *child, int signal);

/* Kills and reaps it, without calling `ended`. Fine when there is none. */
void child_kill(struct child *child);

#endif
