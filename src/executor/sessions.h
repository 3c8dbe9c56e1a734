/*
 * Commands of people in this container (tony exec, tony shell): for each a process of its own
 * (`tony-agent session`), which speaks to the AM and runs the command. They are helpers of the
 * program's: none of them outlives it, and none keeps it alive.
 */
#ifndef TONY_EXECUTOR_SESSIONS_H
#define TONY_EXECUTOR_SESSIONS_H

#include <stdbool.h>
#include <sys/types.h>

#include "protocol/orders.h"

struct sessions {
	pid_t pids[SESSION_ORDERS_MAX]; /* 0: none */
};

/* In the environment and directory of `program`, a process that runs, and for its namespaces. */
void sessions_start(struct sessions *sessions, const char *id, pid_t program);

/* False: the process was none of them. */
bool sessions_child_ended(struct sessions *sessions, pid_t pid);

/* Ends them, with all that they have started. */
void sessions_cancel(struct sessions *sessions);

/* session.c: `tony-agent session ID PROGRAM`. */
int session_main(int argc, char **argv);

#endif
