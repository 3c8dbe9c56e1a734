/*
 * What this machine can give to jobs.
 *
 * Memory and GPUs are hard: no more is given than there is. Vcores are shares of the processor: one
 * task can have no more than there are cores, but their sum is not counted, since four workers that
 * take turns on a laptop's two cores are what its owner wants, unless tony.local.vcores sets a
 * limit.
 *
 * A machine sold with 8 GiB tells of some 7.5 GiB, and a job of four tasks at the default 2 GiB is
 * meant to run there. So, where neither tony.local.memory nor a cgroup says how much it is exactly,
 * an eighth more is given than the kernel tells of, 1 GiB at most. That sum is the machine's memory
 * wherever tony tells it.
 */
#ifndef TONY_SCHEDULER_CAPACITY_H
#define TONY_SCHEDULER_CAPACITY_H

#include "scheduler/share.h"

struct capacity {
	int64_t memory; /* MiB: tony.local.memory, else the machine's or what cgroups leave of it */
	int64_t vcores; /* tony.local.vcores; 0: unlimited */
	int64_t cores;	/* that the process may run on */
	struct str_list gpus; /* names for CUDA_VISIBLE_DEVICES, in order */
	bool has_gpus;	      /* the machine has some, whether they may be used or not */
	int64_t max_gpus;     /* tony.local.max-gpus-per-user; 0: unlimited */
};

/* Reads the machine, as `process` (0: the caller) may use it, and the keys
 * tony.local.{memory,vcores,gpus,max-gpus-per-user} of job->config
 * (`config`; NULL: none). `root` is "" but in tests, which lay out a tree with proc/, sys/ and
 * dev/. GPUs are those of the process's CUDA_VISIBLE_DEVICES where that is set, by index, UUID or
 * other name. */
int capacity_find(const char *root, pid_t process, const json_t *config, struct capacity *capacity,
		  struct err *err);
void capacity_finish(struct capacity *capacity);
#define cleanup_capacity __attribute__((cleanup(capacity_finish)))

/* NULL when the machine, if empty, can give `need`; else "64.0 GiB; this machine has 24.5 GiB
 * (tony.local.memory)", and in *resource the word of the keys that ask for it: "memory", "vcores"
 * or "gpus". The caller frees. */
char *capacity_refusal(const struct capacity *capacity, const struct share *need,
		       const char **resource);

/* The same of what one task needs, where tony.local.vcores sets no limit: "64 vcores; this machine
 * has 2 cores (tony.local.vcores)". */
char *capacity_refusal_of_cores(const struct capacity *capacity, int64_t vcores);

#endif
