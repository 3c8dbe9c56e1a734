/* Where the processes of several tasks stand, asked at once (docs/rest.md, "Commands in a task").
 */
#ifndef TONY_CLIENT_STACKS_ASK_H
#define TONY_CLIENT_STACKS_ASK_H

#include <jansson.h>
#include <stdint.h>

#include "client/opened.h"

struct stacks_answer {
	char *task;
	json_t *processes; /* executor/stacks.h tells; NULL: `problem` */
	char *problem;
};

/* Of tasks[].task fills the others, all owned by the caller, each within timeout_ms from the moment
 * on in which it is asked. -1: nobody can be asked. */
int stacks_ask(const struct opened *opened, struct stacks_answer *tasks, size_t count,
	       int64_t timeout_ms, struct err *err);

#endif
