/*
 * The queues as a ResourceManager's web service tells of them (Hadoop 2.10 to 3.5):
 *
 *   GET /ws/v1/cluster/scheduler    JSON: the tree of queues; what is in it depends on the
 * scheduler
 *
 * Of limits it says more than RPC does: those of users and application masters, and what is used of
 * GPUs and labelled nodes.
 */
#ifndef TONY_SCHEDULER_YARN_REST_H
#define TONY_SCHEDULER_YARN_REST_H

#include "hadoop/cluster.h"
#include "scheduler/resources.h"

/* Fills in what is said of those `queues`, for the cluster's user. */
int yarn_rest_add(const struct hadoop_cluster *cluster, struct scheduler_queues *queues,
		  struct err *err);

/* The same of an answer, apart from the network. */
int yarn_rest_parse(const char *body, size_t length, const char *user,
		    struct scheduler_queues *queues, struct err *err);

#endif
