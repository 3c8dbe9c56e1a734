/* One look at /proc: what proc.c, proc_end.c and proc_tree.c know about processes comes from here.
 */
#ifndef TONY_BASE_PROC_SCAN_H
#define TONY_BASE_PROC_SCAN_H

#include "base/proc.h"

struct proc_entry {
	struct proc_id id;
	pid_t parent;
	pid_t group;
	char state; /* as in /proc/PID/stat: 'R', 'S', 'Z' ... */
	uint32_t threads;
	uint64_t cpu_ticks; /* with waited-for children */
	uint64_t rss_pages;
	bool executing; /* a new program is being loaded (shown to who may read its memory) */
	bool dead;	/* a zombie; not one whose first thread alone has ended */
};

struct proc_scan {
	struct proc_entry *items; /* sorted by parent */
	size_t count, capacity;
};

/* Reads /proc/PID/stat of one process; -1 when there is none. */
int proc_read_entry(pid_t pid, struct proc_entry *entry);

void proc_scan_take(struct proc_scan *scan);
/* The descendants of `root` alone, which costs as much as these have threads, whatever else runs on
 * the machine; all processes where the kernel has no lists of children. */
void proc_scan_take_below(struct proc_scan *scan, pid_t root);
bool proc_scan_has_lists(void);
void proc_scan_finish(struct proc_scan *scan);

/* The live descendants of `root` (without it), parents before children, as pointers into the scan;
 * the caller frees. `scan` may be reused afterwards, but not finished before. Of those that carry
 * the mark `spared` (NULL: none) neither they nor what descends from them is listed. */
const struct proc_entry **proc_scan_descendants(const struct proc_scan *scan, pid_t root,
						const char *spared, size_t *count);

/* True when the process's environment holds exactly `mark`. */
bool proc_has_mark(pid_t pid, const char *mark);

/* Reads a file of /proc/PID into `out` (emptied first); -1 when it is unreadable or larger than
 * `cap`. */
struct str;
int proc_read_file(pid_t pid, const char *name, size_t cap, struct str *out);

/* The number behind "<name>:" at the start of a line of such a file; false: it is not there. */
bool proc_find_number(const char *text, const char *name, uint64_t *number);

/* The pid (or thread id) given out last, 0 when the kernel does not tell. */
pid_t proc_last_pid(void);

#endif
