/* A ResourceManager's scheduler and a NodeManager, as far as an application master meets them: they
 * write down what they are told, and answer what a test has put in their mouth. Tokens are asked
 * for where the test says which. */
#ifndef TONY_TEST_HADOOP_FAKE_RM_H
#define TONY_TEST_HADOOP_FAKE_RM_H

#include "fake_rpc.h"
#include "proto/yarn.pb-c.h"

struct fake_rm {
	struct fake_server server;
	const char *token; /* identifier (and password) that a client must come with; NULL: none */
	/* A line per call, for allocate only where it says more than that it is there:
	 *   register HOST:PORT URL
	 *   allocate ID ask p1 n2 1024m 1c at h1 yarn.io/gpu=1 label=x; release 4; avoid h1;
	 *            forgive h1; single p1 #1000000 n1 a,b notin
	 *   finish 1 DIAGNOSTICS URL
	 *   nodes
	 *   start h1 4 KEY=VALUE ... ; stop 4; look 4
	 */
	struct str log;
	size_t seen;			     /* of it, by rm_wait() */
	Hadoop__AllocateResponseProto *next; /* answers the next allocate */
	Hadoop__RegisterApplicationMasterResponseProto limits;
	const char *error, *error_text; /* the next call gets this exception; NULL: none */

	Hadoop__NodeReportProto *nodes[8]; /* as the service for clients: those that it has */
	size_t node_count;
	int64_t headroom; /* MiB, told with each answer to allocate; 0: not told */
	int32_t response_id;
	int allocates, finishes; /* calls */
	bool is_silent;		 /* allocate and start are heard and not answered */

	/* As a NodeManager: what is said of each container; NULL: success. */
	const char *refusal, *refusal_class;
	int ended; /* this one has ended when it is looked at; others run */
};

void rm_open(struct fake_rm *rm, struct event_base *base);
void rm_close(struct fake_rm *rm);

/* Runs the loop until the log, behind what was waited for before, has `part`. */
void rm_wait(struct fake_rm *rm, const char *part);
bool rm_said(const struct fake_rm *rm, const char *part); /* ever */
/* Runs the loop until the next allocate was answered, and the answer understood. */
void rm_beat(struct fake_rm *rm);

/* What the next allocate is answered with. Containers are of application 1, attempt 1. */
Hadoop__ContainerIdProto *rm_container_id(int number); /* message_free() */
Hadoop__ContainerProto *rm_give(struct fake_rm *rm, int kind, int64_t request, int number,
				const char *host, int port);
void rm_size(Hadoop__ContainerProto *container, int64_t memory); /* MiB */
void rm_end(struct fake_rm *rm, int number, int status, const char *diagnostics);
void rm_give_node_token(struct fake_rm *rm, const char *host, int port, const char *token);
void rm_roll_token(struct fake_rm *rm, const char *token);
void rm_preempt(struct fake_rm *rm, int number, bool strict);
void rm_node(struct fake_rm *rm, const char *host, int port, Hadoop__NodeStateProto state,
	     const char *report);
/* It is being decommissioned; `timeout` in s, -1: none. */
void rm_node_leaves(struct fake_rm *rm, const char *host, int port, int32_t timeout);
/* The same, to those who ask. */
void rm_node_is_leaving(struct fake_rm *rm, const char *host, int port, int32_t timeout);
/* A node that runs, to those who ask: MiB that it has and that are taken. `label` NULL: none. */
void rm_has_node(struct fake_rm *rm, const char *host, const char *label, int64_t memory,
		 int64_t used);
void rm_use_node(struct fake_rm *rm, size_t number, int64_t used);
void rm_command(struct fake_rm *rm, Hadoop__AMCommandProto command);

#endif
