/*
 * Memory limits by control group, in whichever of the kernel's two forms the machine has and this
 * user may write: version 1's memory controller, or version 2 in a delegated subtree. Where neither
 * can be had the executor watches instead (TONY_MEMORY_WATCH).
 *
 * `root` is "" but in tests, which lay out a tree with proc/ and sys/ of their own.
 */
#ifndef TONY_SCHEDULER_CGROUP_H
#define TONY_SCHEDULER_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

enum cgroup_version { CGROUP_NONE, CGROUP_V1, CGROUP_V2 };

/* The group below which those of tasks are made. */
struct cgroup_home {
	enum cgroup_version version;
	char *path; /* NULL with CGROUP_NONE */
};

/* Looks for a place where a group with a memory limit can be made. In version 2 a group that has
 * processes cannot have limited children, so the place may be an ancestor of the caller's group,
 * but never outside a group that is itself limited: its processes must not escape that limit. */
void cgroup_find_home(const char *root, struct cgroup_home *home);
void cgroup_home_finish(struct cgroup_home *home);

/* The memory that the group of a process (0: the caller) and those above it allow, in MiB;
 * INT64_MAX: no limit. */
int64_t cgroup_memory_allowed(const char *root, pid_t process);

/* Makes a group limited to `memory` MiB (swap included) and returns its path, which the caller
 * frees; NULL with `err` when there is none to be had. */
char *cgroup_create(const struct cgroup_home *home, const char *name, int64_t memory,
		    struct err *err);

/* fork(), for a process of one thread. The child is in the group from its first instruction on
 * where the kernel can do that, else as soon as this returns. `path`: NULL: no group. `is_inside`
 * is the child's. */
pid_t cgroup_fork(const char *path, bool *is_inside);

/* True when no process is in the group or below. */
bool cgroup_is_empty(const char *path);

/* How many processes the kernel killed there for want of memory. */
int64_t cgroup_oom_kills(const char *path);

/* Kills all processes in the group and below, as far as that goes without waiting. */
void cgroup_kill(const char *path);

/* Removes the group and those below it; -1 while there is still a process in one. */
int cgroup_remove(const char *path);

/* Kills, waits a moment, and removes, for about two seconds. */
void cgroup_end(const char *path);

/* The name of the group of one container of a job. The caller frees. */
char *cgroup_name(const char *job_id, const char *container);

/* Kills and removes every group of a job; may wait for 2 s per group. */
void cgroup_clean(const char *root, const char *job_id);

#endif
