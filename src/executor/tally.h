/* The processor time and memory of a program, from its start to its end. The kernel tells them of
 * processes that have ended, however short they lived. */
#ifndef TONY_EXECUTOR_TALLY_H
#define TONY_EXECUTOR_TALLY_H

#include <sys/resource.h>

#include "executor/memory.h"
#include "job/record.h"

struct tally {
	int64_t begun_ms; /* monotonic */
	int64_t cpu_ms;	  /* of children of this process that do not count */
	int64_t max_rss_bytes;
};

/* From now on all children of this process are the program's, but helpers. */
void tally_begin(struct tally *tally);
/* A child that is not the program's has ended. */
void tally_leave_out(struct tally *tally, const struct rusage *used);
/* One of the program's own processes, which run side by side, has ended. */
void tally_add(struct tally *tally, const struct rusage *used);
/* The program has ended. `memory`: what was seen of it, since the kernel tells only of single
 * processes, with shared pages in full. */
void tally_end(const struct tally *tally, const struct memory *memory, struct program_use *use);

#endif
