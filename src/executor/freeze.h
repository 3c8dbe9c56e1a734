/*
 * Whether a process of the task stands still because somebody stopped it (SIGSTOP): its executor
 * beats on, and its peers wait for it, many frameworks for ever. A debugger's stop does not count.
 */
#ifndef TONY_EXECUTOR_FREEZE_H
#define TONY_EXECUTOR_FREEZE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/proc_tree.h"

struct freeze {
	int64_t limit_ms;	/* 0: nobody looks */
	struct proc_id process; /* the one seen stopped; pid 0: none */
	int64_t since;		/* ms, as `now` */
};

/* Looks at the task's processes, less `others`. True: one has been stopped for limit_ms. */
bool freeze_look(struct freeze *freeze, struct proc_tree *processes, const struct proc_list *others,
		 int64_t now);

/* "process 4711 (python3) was stopped (SIGSTOP) and stood still for 60s". The caller frees. */
char *freeze_text(const struct freeze *freeze);

#endif
