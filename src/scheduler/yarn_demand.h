/*
 * All that a job must have at the same time, as the scheduler will count it, and the nodes on which
 * that can be: by partition, which is the nodes of a label, or those without one. A node with a
 * label serves others only when the label is not exclusive.
 */
#ifndef TONY_SCHEDULER_YARN_DEMAND_H
#define TONY_SCHEDULER_YARN_DEMAND_H

#include "scheduler/yarn_client.h"
#include "scheduler/yarn_tree.h"

/* Of one resource. */
struct yarn_amount {
	const char *name;
	int64_t need;
	int64_t wanted;	   /* beyond that, by elastic types */
	int64_t own, lent; /* what nodes of the partition have, and others that it may use */
};

/* All containers of a type, or the AM's. */
struct yarn_shape {
	const struct job_type *type; /* NULL: the AM's */
	int64_t count;		     /* at least */
	struct yarn_portion {
		const char *name;
		int64_t asked, given; /* to each, before and after it is rounded */
	} * portions;
	size_t portion_count;
};

/* States of nodes that may come back. */
enum yarn_away {
	YARN_AWAY_UNHEALTHY,
	YARN_AWAY_DECOMMISSIONING,
	YARN_AWAY_DECOMMISSIONED,
	YARN_AWAY_LOST,
	YARN_AWAY_STOPPED,
	YARN_AWAY_COUNT
};

struct yarn_partition {
	const char *label; /* "": the nodes without one */
	bool has_am;
	size_t tasks;
	struct yarn_amount *amounts;
	size_t amount_count;
	struct yarn_shape *shapes;
	size_t shape_count;
	const Hadoop__ResourceProto **nodes; /* that run, each with what it has */
	size_t node_count;
	size_t away[YARN_AWAY_COUNT];
};

struct yarn_demand {
	struct yarn_partition *partitions;
	size_t count;
	ProtobufCMessage *nodes, *labels;
};

/* Notes the nodes in `cluster`, too. */
int yarn_demand_find(struct hadoop_cluster *cluster, const struct job *job,
		     const struct yarn_queue_found *found, const Hadoop__ResourceProto *largest,
		     struct yarn_demand *demand, struct err *err);
void yarn_demand_finish(struct yarn_demand *demand);
#define cleanup_yarn_demand __attribute__((cleanup(yarn_demand_finish)))

/* 0: none is asked for. */
int64_t yarn_shape_given(const struct yarn_shape *shape, const char *name);

#endif
