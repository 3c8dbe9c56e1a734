/* A cluster's nodes and queues, as its ResourceManager tells them by RPC; of the queues also what
 * its web service says (yarn_tree.h). */
#ifndef TONY_SCHEDULER_YARN_RESOURCES_H
#define TONY_SCHEDULER_YARN_RESOURCES_H

#include "scheduler/scheduler.h"
#include "scheduler/yarn_tree.h"

int yarn_nodes(struct scheduler_nodes *nodes, struct err *err);
int yarn_queues(struct scheduler_queues *queues, struct err *err);

/* The same of answers, apart from the network. `answer`: of RM_WEB_NODES; NULL: there is none. */
void yarn_nodes_read(const Hadoop__GetClusterNodesResponseProto *told, const json_t *answer,
		     struct scheduler_nodes *nodes);
/* Those of the tree that jobs can go to, sorted by their paths, are moved to `queues`, and named as
 * a job has to. */
void yarn_queues_take(struct yarn_tree *tree, struct scheduler_queues *queues);

#endif
