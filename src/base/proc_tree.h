/*
 * The descendants of a process, looked at again and again, and what they use. A look costs as much
 * as these have threads, whatever else runs on the machine: the kernel lists each thread's
 * children. Where it was built without these lists, only the pids that were given out since the
 * last look can be new descendants. All of /proc is read there where that cannot be told, or would
 * cost more, and once a minute: what has a pid that was not given out in turn (a restored
 * checkpoint of CRIU's) is found by then.
 */
#ifndef TONY_BASE_PROC_TREE_H
#define TONY_BASE_PROC_TREE_H

#include "base/proc.h"

struct proc_tree;

/* Without `root`, which is a subreaper or has no descendants that outlive their parents. */
struct proc_tree *proc_tree_create(pid_t root);
void proc_tree_destroy(struct proc_tree *tree); /* NULL is fine */

/* Bytes and ms; what cannot be read counts 0. */
struct proc_usage {
	uint64_t rss_bytes;   /* summed resident set */
	uint64_t pss_bytes;   /* proportional set; RSS where it is unreadable */
	uint64_t cpu_ms;      /* user + system, of the live ones and their waited-for children */
	uint64_t read_bytes;  /* from storage, /proc/PID/io */
	uint64_t write_bytes; /* to storage */
	uint64_t io_bytes;    /* read and written, wherever */
	uint32_t processes;
	uint32_t threads;
};

/* Each of these looks anew. The kernel walks over all pages of a process to tell its proportional
 * set: that is read of each at most every 30 s, in 0.02 % of a core's time (and 50 ms at the
 * start), and in between goes up and down with the resident set. */
void proc_tree_measure(struct proc_tree *tree, struct proc_usage *usage);
/* The same without each process that is an outsider, as the caller tells, and all below it. */
typedef bool proc_tree_outsider(const void *data, pid_t pid);
void proc_tree_measure_own(struct proc_tree *tree, proc_tree_outsider *is_outsider,
			   const void *data, struct proc_usage *usage);
uint64_t proc_tree_resident_set(struct proc_tree *tree);     /* bytes */
uint64_t proc_tree_proportional_set(struct proc_tree *tree); /* bytes, of each as it is now */
/* The same of the last look, as proc_tree_measure() tells it. */
uint64_t proc_tree_proportional_estimate(struct proc_tree *tree);

/* Likewise: those that a signal such as SIGSTOP has stopped. */
void proc_tree_list_stopped(struct proc_tree *tree, struct proc_list *list);

/* Those of the last look. */
void proc_tree_list(const struct proc_tree *tree, struct proc_list *list);

#endif
