/*
 * Processes, read from /proc: trees, marks, memory, and ending all of them.
 */
#ifndef TONY_BASE_PROC_H
#define TONY_BASE_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* A process named so that a recycled pid is not mistaken for it. */
struct proc_id {
	pid_t pid;
	uint64_t start_time; /* clock ticks since boot: field 22 of /proc/PID/stat */
};
bool proc_identify(pid_t pid, struct proc_id *id); /* false: no such process */
bool proc_is_alive(const struct proc_id *id);	   /* a zombie is not alive */

struct proc_list {
	struct proc_id *items;
	size_t count;
};
void proc_list_finish(struct proc_list *list);

/* All live descendants of `root` (without it), parents before children. */
void proc_find_descendants(pid_t root, struct proc_list *list);

/* Those of them that a signal such as SIGSTOP has stopped. */
void proc_find_stopped(pid_t root, struct proc_list *list);

/* All live processes whose environment holds exactly `mark` ("TONY_CONTAINER=..."), except the
 * caller and `except` (0: none). Only processes whose /proc/PID/environ is readable are seen. */
void proc_find_marked(const char *mark, pid_t except, struct proc_list *list);

/* Ends every descendant of `root` and every process carrying `mark` (NULL: none): sends `signal`
 * first when it is not SIGKILL and waits up to grace_ms for them to go, then SIGKILL, again and
 * again until none is left (a fork bomb is first frozen with SIGSTOP). Never signals the caller,
 * nor the `protect_count` processes in `protect` (their descendants are still ended).
 * Blocks; reaps those that are the caller's children (with the caller as root: all of its dead
 * children but the protected ones). Returns how many were still there after the
 * grace, or -1 when some survive 10 s of SIGKILL (uninterruptible sleep). */
int proc_end_all(pid_t root, const char *mark, const pid_t *protect, size_t protect_count,
		 int signal, int64_t grace_ms);

/* What a tree of processes uses now (root included). Bytes and ms; what cannot be read counts 0. */
struct proc_usage {
	uint64_t rss_bytes;   /* summed resident set */
	uint64_t pss_bytes;   /* proportional set from smaps_rollup; RSS where it is unreadable */
	uint64_t cpu_ms;      /* user + system, of the live ones and their waited-for children */
	uint64_t read_bytes;  /* from storage, /proc/PID/io */
	uint64_t write_bytes; /* to storage */
	uint32_t processes;
	uint32_t threads;
};
void proc_measure_tree(pid_t root, struct proc_usage *usage);
void proc_measure_descendants(pid_t root, struct proc_usage *usage); /* without `root` */

/* The program's name as the kernel keeps it (15 bytes), made printable; "?" when it is gone. The
 * caller frees. */
char *proc_name(pid_t pid);

/* A signal's name without table lookups by the caller: 9 -> "SIGKILL"; "signal 40" for others. */
const char *proc_signal_name(int signal);

#endif
