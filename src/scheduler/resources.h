/*
 * The nodes and queues of an engine, and how much of them is free, as it tells one user. An
 * amount of -1 is not known; as a limit it is none.
 */
#ifndef TONY_SCHEDULER_RESOURCES_H
#define TONY_SCHEDULER_RESOURCES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "scheduler/share.h"

/* ---- nodes -------------------------------------------------------------------------------- */

enum node_state {
	NODE_READY,
	NODE_DRAINING,	/* gives no new containers, and those that it has may end */
	NODE_DRAINED,	/* taken out of use */
	NODE_UNHEALTHY, /* it says itself that it is not fit */
	NODE_DOWN,
};
const char *node_state_name(enum node_state state); /* "ready" */

struct scheduler_node {
	char *name; /* the host, as containers on it are told of */
	enum node_state state;
	struct str_list labels;
	struct share total;
	struct share used;  /* by all users; vcores -1: their sum is not limited */
	int64_t containers; /* of all users; guaranteed ones alone where the next are known */
	int64_t opportunistic, opportunistic_waiting; /* that run there, and for room there */
	char *note; /* why it gives none, or who else uses it; NULL: nothing is to be said */
};

struct scheduler_nodes {
	struct scheduler_node *items;
	size_t count;
};
/* The largest container that it could give now. */
struct share scheduler_node_free(const struct scheduler_node *node);
void scheduler_nodes_finish(struct scheduler_nodes *nodes);
#define cleanup_scheduler_nodes __attribute__((cleanup(scheduler_nodes_finish)))

/* ---- queues ------------------------------------------------------------------------------- */

enum queue_state {
	QUEUE_OPEN,
	QUEUE_DRAINING, /* takes no jobs, and those that it has go on */
	QUEUE_STOPPED,
};
const char *queue_state_name(enum queue_state state);

enum queue_access { QUEUE_ACCESS_UNKNOWN, QUEUE_ACCESS_GRANTED, QUEUE_ACCESS_DENIED };

/* The part of a queue that is of the nodes with one label. */
struct scheduler_queue_part {
	char *label; /* NULL: of the nodes without one */
	struct share guaranteed, maximum;
	struct share used, pending; /* by all users; and what their jobs have asked for and lack */
	struct share user_limit, user_used;
	struct share am_limit, am_used; /* by the application masters of all users */
};

/* A job of the queue, as far as the engine tells of others than this user's. */
struct scheduler_queue_job {
	char *id, *user;
	struct share holds, wants; /* `wants`: what it waits for; all 0: for nothing */
};

struct scheduler_queue {
	char *name; /* as tony.application.queue has it */
	char *path; /* "root.ml"; NULL: queues are not in a tree */
	enum queue_state state;
	bool makes_queues;	  /* queues below it are made when they are used */
	bool is_mapped;		  /* no job can name it, or those below it: the engine's mapping of
				   * users sends jobs there */
	enum queue_access access; /* do jobs of this user get there? */
	struct share largest;	  /* container */
	int64_t running, waiting; /* jobs of all users */
	int64_t max_running, max_jobs; /* so many may run, and be there */
	int64_t user_running, user_waiting;
	int64_t max_job_ms; /* a job is ended after that */
	struct scheduler_queue_part *parts;
	size_t part_count;
	struct scheduler_queue_job *jobs; /* those that run, then the others in their order */
	size_t job_count;
};

struct scheduler_queues {
	struct scheduler_queue *items;
	size_t count;
};
/* Nothing is known of it but this, and its part of nodes without a label is there, the first. The
 * texts are copied. */
void scheduler_queue_init(struct scheduler_queue *queue, const char *name, const char *path);
void scheduler_queue_finish(struct scheduler_queue *queue);
/* Room for one more, to be init()ed or moved there. */
struct scheduler_queue *scheduler_queues_add(struct scheduler_queues *queues);
/* `label`: it has none of that yet. */
struct scheduler_queue_part *scheduler_queue_add_part(struct scheduler_queue *queue,
						      const char *label);
/* The limits of the queue and the user leave so much to this user; the nodes may have less. */
struct share scheduler_queue_left(const struct scheduler_queue_part *part);
/* Is `name` the queue's name, its path, or the end of that? */
bool scheduler_queue_is_called(const struct scheduler_queue *queue, const char *name);
void scheduler_queues_finish(struct scheduler_queues *queues);
#define cleanup_scheduler_queues __attribute__((cleanup(scheduler_queues_finish)))

#endif
