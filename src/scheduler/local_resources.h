/* The local scheduler's one node and one queue: what capacity and the ledgers tell of them. */
#ifndef TONY_SCHEDULER_LOCAL_RESOURCES_H
#define TONY_SCHEDULER_LOCAL_RESOURCES_H

#include "scheduler/scheduler.h"

int local_nodes(struct scheduler_nodes *nodes, struct err *err);
int local_queues(struct scheduler_queues *queues, struct err *err);

#endif
