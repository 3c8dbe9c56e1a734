/*
 * Commands of people in this container (tony exec, tony shell): for each a process of its own
 * (`tony-agent session`), which speaks to the AM and runs the command. They are helpers of the
 * program's: none of them outlives it, none keeps it alive, and none is taken for it.
 */
#ifndef TONY_EXECUTOR_SESSIONS_H
#define TONY_EXECUTOR_SESSIONS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/proc.h"
#include "protocol/orders.h"

/* In the environment of each process of a session: its name. */
#define SESSION_VARIABLE "TONY_SESSION"

struct sessions {
	struct session_process {
		pid_t pid; /* 0: none */
		char id[SESSION_ID_LENGTH + 1];
	} items[SESSION_ORDERS_MAX];
};

/* In this environment, and the directory of `program`, a process that runs, and for its namespaces.
 */
void sessions_start(struct sessions *sessions, const char *id, pid_t program,
		    char *const *environment);

/* False: the process was none of them. */
bool sessions_child_ended(struct sessions *sessions, pid_t pid);

/* Is it one of their processes, but for those that they have started? In a namespace of processes,
 * where an orphan is no descendant of theirs, it is that one, too. */
bool sessions_have(const struct sessions *sessions, pid_t pid);

/* All their processes, for proc_list_finish(). */
void sessions_list(const struct sessions *sessions, struct proc_list *list);

/* Kills them, with all that they have started. Does not wait for what hangs in the kernel. */
void sessions_cancel(struct sessions *sessions);

/* session.c: `tony-agent session ID PROGRAM`. */
int session_main(int argc, char **argv);

#endif
