/* A cluster's nodes and queues, as its ResourceManager tells them by RPC; of the queues also what
 * its web service says (yarn_rest.h). */
#ifndef TONY_SCHEDULER_YARN_RESOURCES_H
#define TONY_SCHEDULER_YARN_RESOURCES_H

#include "scheduler/scheduler.h"

int yarn_nodes(struct scheduler_nodes *nodes, struct err *err);
int yarn_queues(struct scheduler_queues *queues, struct err *err);

#endif
