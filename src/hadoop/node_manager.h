/*
 * Starting, stopping and watching containers: ContainerManagementProtocol of Hadoop 2.10 to 3.5, on
 * rpc.h. Each NodeManager has a connection of its own, and all are spoken to at the same time; what
 * is to be started on one of them in a turn of the loop goes out as one call, and what comes while
 * that is under way as the next. A connection that is not needed for a while is closed.
 *
 * A NodeManager that does not answer, or is only just coming up, is asked again with growing
 * pauses. A start whose fate is not known is repeated as well: a container that runs already is
 * recognised by the NodeManager, and that counts as started.
 */
#ifndef TONY_HADOOP_NODE_MANAGER_H
#define TONY_HADOOP_NODE_MANAGER_H

#include <stdbool.h>
#include <stdint.h>

#include "hadoop/rpc.h"
#include "proto/yarn.pb-c.h"

struct event_base;

/* Called from the event loop; `container` is the id as text. They may start and stop others. */
struct node_managers_events {
	void *data;
	/* The NodeManager has taken it: its files are fetched, then it runs. */
	void (*started)(void *data, const char *container);
	/* It is not started, and will not be tried again. `text` names the NodeManager. */
	void (*failed)(void *data, const char *container, const char *text);
	/* `failure`: why it could not be stopped; NULL: it is, or is not there (any more). */
	void (*stopped)(void *data, const char *container, const char *failure);
	/* One that was watched has ended. */
	void (*completed)(void *data, const Hadoop__ContainerStatusProto *status);
	/* False: nothing is to be started or stopped now; it is asked again. NULL: always true. */
	bool (*may_act)(void *data);
};

struct node_managers_options {
	struct rpc_options rpc; /* without service, addresses, token and how long to wait */
	int64_t give_up_ms;	/* how long a NodeManager is tried for; > 0 */
	struct node_managers_events events;
};

struct node_managers;

struct node_managers *node_managers_create(struct event_base *base,
					   const struct node_managers_options *options);
/* Nobody is told. Not from within an event. NULL is fine. */
void node_managers_destroy(struct node_managers *managers);

/* The ResourceManager sends one per node and attempt, with the first container there; a later one
 * for the same node replaces it. */
void node_managers_set_token(struct node_managers *managers, const Hadoop__NMTokenProto *token);

/* What is passed is copied. */
void node_managers_start(struct node_managers *managers, const Hadoop__ContainerProto *container,
			 const Hadoop__ContainerLaunchContextProto *context);
void node_managers_stop(struct node_managers *managers, const Hadoop__NodeIdProto *node,
			const Hadoop__ContainerIdProto *container);
/* Of one that should end soon: the ResourceManager knows with the NodeManager's next heartbeat, the
 * NodeManager at once. It is asked again and again, ever more slowly; when it cannot tell there is
 * no event, and the ResourceManager will. */
void node_managers_watch(struct node_managers *managers, const Hadoop__NodeIdProto *node,
			 const Hadoop__ContainerIdProto *container);

#endif
