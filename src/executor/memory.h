/*
 * How much memory the task uses, against its limit: its proportional set, in which a page that
 * several processes share counts once. Where the kernel enforces the limit (a control
 * group) it is asked what it killed; where nobody does, this watch does.
 */
#ifndef TONY_EXECUTOR_MEMORY_H
#define TONY_EXECUTOR_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/proc_tree.h"

struct memory {
	struct proc_tree *tree; /* borrowed */
	uint64_t limit;		/* bytes; 0: none */
	bool enforce;		/* by this watch */
	const char *cgroup;	/* borrowed; NULL: none */
	int64_t kills;		/* of the group, when the program began */
	int64_t machine_kills;	/* likewise of the machine; INT64_MAX: not known */
	uint64_t used;		/* bytes, at the last look */
	uint64_t peak;		/* the most seen since the program began */
	uint64_t resident_peak; /* likewise, shared pages counted for each process */
	int64_t cost_ms;	/* of the last look */
};

/* Of the processes of `tree` (NULL: nobody will look, nor will a program run). `limit_mib` 0: none.
 */
void memory_init(struct memory *memory, struct proc_tree *tree, int64_t limit_mib,
		 const char *cgroup, bool enforce);
void memory_begin(struct memory *memory); /* a new program starts */

/* A measurement made for other reasons: for the peaks. */
void memory_note(struct memory *memory, uint64_t used, uint64_t resident);

/* Measures. True: they are over a limit that this watch enforces. */
bool memory_look(struct memory *memory);

/* When to look next, ms: sooner when the limit is near, later when looking is slow. */
int64_t memory_interval(const struct memory *memory);

bool memory_kernel_killed(const struct memory *memory); /* since the program began */
/* How many processes of the machine, of whatever group, the kernel has killed for want of memory
 * since the program began; 0 also when it does not tell. */
int64_t memory_machine_kills(const struct memory *memory);
bool memory_was_near(const struct memory *memory); /* the peak was within 5% of the limit */

/* The peak, "3.9 of 4.0 GiB"; the limit, "4.0 GiB". The caller frees. */
char *memory_peak_text(const struct memory *memory);
char *memory_limit_text(const struct memory *memory);

#endif
