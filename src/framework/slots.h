/*
 * Where each process of a Horovod ring stands, numbered as horovodrun does: hosts in the order in
 * which they first appear among the ranks of rank.h, on each host its processes in that same order.
 * Containers with the same host share it: their processes are local to each other.
 */
#ifndef TONY_FRAMEWORK_SLOTS_H
#define TONY_FRAMEWORK_SLOTS_H

#include "framework/framework.h"

struct slot {
	const char *host; /* borrowed, as is the name */
	const char *name; /* of the process, where it has one; else NULL */
	size_t type;
	int index, process;
	int rank;		    /* hosts are contiguous in it */
	int local_rank, local_size; /* among the processes of the host */
	int cross_rank, cross_size; /* among the processes of this local rank, one on each host */
};

/* In the order of their ranks. Initialise with {0}. */
struct slots {
	struct slot *items;
	size_t count;
};
#define cleanup_slots __attribute__((cleanup(slots_finish)))

/* Of the formation's tracked tasks; fails when one has no address. */
int slots_build(const struct job *job, const struct cluster *cluster, struct slots *slots,
		struct err *err);
/* The same for processes that are listed by host, type, index and process. */
void slots_number(struct slots *slots);
void slots_finish(struct slots *slots);

/* NULL: the process is not in the ring. */
const struct slot *slots_find(const struct slots *slots, const struct framework_task *task);

/* TonY's form: [{"hostname", "rank", "localRank", "crossRank", "size", "localSize", "crossSize"},
 * ...]. */
json_t *slots_to_json(const struct slots *slots);

/* TonY's list of workers, which is horovodrun's -H: "host:processes,host:processes". The caller
 * frees. */
char *slots_hosts(const struct slots *slots);

#endif
