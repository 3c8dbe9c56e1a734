/*
 * Launchers inside of a task start things again by themselves: torchrun its ranks, Dask's nanny a
 * worker, Ray an actor or its trainer a group. The task's own process stays, so that its lines are
 * all that tells of it: in new versions of Ray those of stdout. A table has them, each row with a
 * test.
 */
#ifndef TONY_EXECUTOR_RESTARTS_H
#define TONY_EXECUTOR_RESTARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RESTARTS_LINE_CAP = 500 }; /* bytes of a line that are looked at */

struct restarts {
	int64_t count;
	char *text; /* of the last one: "torchrun: rank 1 here was killed by signal 9 (SIGKILL)" */
};
void restarts_finish(struct restarts *restarts);

/* Of one stream of the program. */
struct restarts_reader {
	struct restarts *restarts; /* borrowed; NULL: nothing is read */
	char line[RESTARTS_LINE_CAP + 1];
	size_t length;
	char *pending; /* may be the end of it all: the next lines tell */
	bool is_held;  /* a traceback followed it: the launcher's own, or the next run's */
};
void restarts_read(struct restarts_reader *reader, const char *bytes, size_t length);
void restarts_reader_finish(struct restarts_reader *reader);

#endif
