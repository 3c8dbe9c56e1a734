/*
 * Whether a task still does anything. Its peers wait for one that does not, many frameworks for
 * ever. (A process that somebody stopped is freeze.h's business.)
 */
#ifndef TONY_EXECUTOR_HANG_H
#define TONY_EXECUTOR_HANG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/proc_tree.h"

struct mask_words;

/* What only grows, of all its processes. */
struct hang_signs {
	uint64_t output_bytes;
	uint64_t cpu_ms;
	uint64_t io_bytes; /* read and written, wherever */
	bool tells_steps;  /* it says how far it is: nothing else counts then, since who waits for
			      a peer may well compute, and write to its log that it waits */
	int64_t change;	   /* of progress.h */
};

struct hang {
	int64_t limit_ms;	/* 0: nobody looks */
	int64_t since;		/* of its last sign of life, ms, as `now` */
	struct hang_signs last; /* at that time */
};

/* A program begins. */
void hang_begin(struct hang *hang, int64_t now);

/* Processor time and bytes of the task's processes, without outsiders (NULL: there are none). */
void hang_measure(struct proc_tree *processes, proc_tree_outsider *is_outsider, const void *data,
		  struct hang_signs *signs);

/* True: there was no sign of life for limit_ms. */
bool hang_look(struct hang *hang, const struct hang_signs *signs, int64_t now);

/* "nothing was written, read or computed for 10 m". The caller frees. */
char *hang_text(const struct hang *hang);

/* Starts a process that writes to `path` where all descendants of this one stand (stacks.h).
 * Secrets (`mask`; NULL: none) are masked in it. Returns its pid; -1: there is none. It may itself
 * hang: the caller ends it then. (hang_stacks.c)
 */
int hang_save_stacks(const char *path, const struct mask_words *mask);

#endif
