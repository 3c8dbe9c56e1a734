/*
 * An application master as the ResourceManager sees it: ApplicationMasterProtocol of Hadoop 2.10 to
 * 3.5, on rpc.h. It registers, says at every beat which containers it wants, and tells what came of
 * it, until it takes its leave.
 *
 * Containers are asked for by kind: all of a kind are alike, and what is said is how many of it are
 * wanted beyond those that came. What comes beyond that is given back here and never shown. A
 * ResourceManager that was started anew or failed over is registered with again, and told again
 * everything that still holds. AMRMTokens that it rolls over are taken up.
 *
 * With more containers than nodes (in a cluster of a few) nodes are named for the first seconds.
 *
 * It beats every 50 ms while containers are wanted or its user is in a hurry, more slowly when
 * that lasts, and every second otherwise.
 */
#ifndef TONY_HADOOP_APPLICATION_MASTER_H
#define TONY_HADOOP_APPLICATION_MASTER_H

#include <stdbool.h>
#include <stdint.h>

#include "hadoop/cluster.h"
#include "hadoop/rpc.h"
#include "proto/yarn.pb-c.h"

/* What containers of one kind are. */
struct container_kind {
	int64_t memory; /* MiB */
	int32_t vcores;
	const struct hadoop_amount *amounts; /* of further resource types */
	size_t amount_count;
	const char *node_label; /* expression; NULL: the application's own */
	/* Nodes that are to be preferred, and their racks; NULL or empty: any will do. Not with a
	 * label. */
	const struct str_list *near_nodes, *near_racks;
	bool is_opportunistic; /* may be taken away for a guaranteed one at any time */
	/* With either of these, each container is a SchedulingRequest (Hadoop 3.1). */
	const Hadoop__PlacementConstraintProto *placement; /* NULL: none */
	const struct str_list *tags;			   /* allocation tags; NULL: none */
};

/* All are called from the event loop, and may call what is below except destroy(). Messages are
 * valid until the callback returns. In one answer they come in this order. */
struct application_master_events {
	void *data;
	/* `response`: NULL when the answer to the first registration was lost. Not repeated when
	 * the ResourceManager wants to be registered with again. */
	void (*registered)(void *data,
			   const Hadoop__RegisterApplicationMasterResponseProto *response);
	/* Containers of this application that run since an AM before this one. May come again. */
	void (*inherited)(void *data, const Hadoop__ContainerProto *container);
	/* It was started anew, or another one took over: containers that were not started yet are
	 * void. */
	void (*forgotten)(void *data);
	void (*node_token)(void *data, const Hadoop__NMTokenProto *token);
	void (*node_changed)(void *data, const Hadoop__NodeReportProto *node);
	/* May come again, and for containers that are not known. */
	void (*completed)(void *data, const Hadoop__ContainerStatusProto *status);
	void (*allocated)(void *data, size_t kind, const Hadoop__ContainerProto *container);
	/* Will be killed. `strict`: for certain; else if the ResourceManager finds nothing better.
	 */
	void (*preempting)(void *data, const Hadoop__ContainerIdProto *container, bool strict);
	/* What is wanted will never be given; nothing of any kind is wanted any more. */
	void (*refused)(void *data, const char *text);
	void (*answered)(void *data, const Hadoop__AllocateResponseProto *response);
	/* The ResourceManager wants nothing of this attempt any more, or is out of reach for good.
	 * Nothing is told after that. */
	void (*over)(void *data, const char *text);
	double (*progress)(void *data); /* 0 to 1: asked before each beat */
};

struct application_master_options {
	struct rpc_options rpc; /* `service` is set here */
	const char *host;	/* where this process listens, for people */
	int port;
	const char *tracking_url;	    /* NULL: none */
	const struct container_kind *kinds; /* borrowed, must outlive the application master */
	size_t kind_count;
	/* Borrowed likewise: hosts of the cluster, and their racks; empty: not known. */
	struct str_list nodes, racks;
	struct application_master_events events;
};

struct application_master;

/* Begins to register. */
struct application_master *
application_master_create(struct event_base *base, const struct application_master_options *options,
			  struct err *err);
void application_master_destroy(struct application_master *am); /* tells nobody; NULL is fine */

/* These are sent soon, together with what else is said in this turn of the loop. */

/* How many containers of the kind are to come; each that comes lowers it by one. */
void application_master_want(struct application_master *am, size_t kind, int32_t count);
int32_t application_master_wanted(const struct application_master *am, size_t kind);
/* Ends a container, started or not: its NodeManager kills it. */
void application_master_release(struct application_master *am,
				const Hadoop__ContainerIdProto *container);
/* No container there; false takes it back. `host` as in NodeId. */
void application_master_avoid(struct application_master *am, const char *host, bool avoid);
/* Something else is expected soon: beat fast. */
void application_master_hurry(struct application_master *am, bool hurry);

/* The ResourceManager answered a beat that was sent within the last 3 seconds: it cannot have
 * started another attempt since. A process that stood still finds itself not current, and its next
 * beat tells whether it is wanted. */
bool application_master_is_current(const struct application_master *am);

/* Unregisters, for which nothing may be wanted any more. `done` is called from the loop when the
 * ResourceManager has it written down, with NULL, or with what went wrong. Once. */
void application_master_finish(struct application_master *am,
			       Hadoop__FinalApplicationStatusProto status, const char *diagnostics,
			       const char *tracking_url,
			       void (*done)(void *data, const char *failure), void *data);

#endif
