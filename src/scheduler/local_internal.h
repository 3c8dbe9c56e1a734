/* The local scheduler's own data: local.c is its interface, local_container.c the life of one
 * container, local_queue.c what waits for the ledger. */
#ifndef TONY_SCHEDULER_LOCAL_INTERNAL_H
#define TONY_SCHEDULER_LOCAL_INTERNAL_H

#include <event2/event.h>
#include <sys/queue.h>

#include "scheduler/allotment.h"
#include "scheduler/cgroup.h"
#include "scheduler/child.h"
#include "scheduler/scheduler.h"

/* Where tasks reach each other: all are on this machine. */
#define LOCAL_HOST "127.0.0.1"

enum container_state {
	CONTAINER_ASKED,     /* in an ask */
	CONTAINER_REFUSED,   /* to be told */
	CONTAINER_ALLOCATED, /* has its share; to be told, or told */
	CONTAINER_RUNNING,   /* has an executor, or what it left behind */
	CONTAINER_ENDED,     /* share given back; to be told */
};

struct ask;
struct local;

struct container {
	struct local *local;
	struct container *older; /* of the same task */
	TAILQ_ENTRY(container) link;
	TAILQ_ENTRY(container) news_link;
	bool has_news; /* is in local->news */
	struct scheduler_request request;
	enum container_state state;
	struct ask *ask;      /* while CONTAINER_ASKED */
	char *name;	      /* "worker-0-1" */
	char *dir;	      /* its logs and files */
	char *mark;	      /* "<job id>/worker-0-1" */
	struct str_list gpus; /* assigned */
	char *cgroup;	      /* NULL: none */
	struct child executor, sweeper;
	struct event *grace; /* how long the executor may take to leave */
	bool released;
	bool swept;
	int status; /* of the executor, from waitpid(2) */
	int64_t oom_kills;
	struct cause cause;
	char *refusal;
};
TAILQ_HEAD(container_queue, container);

/* What is allocated at once: a gang, or a single task. */
struct ask {
	TAILQ_ENTRY(ask) link;
	size_t count;
	struct share need;
};
TAILQ_HEAD(ask_queue, ask);

/* A task's containers, newest first; the name outlives them, for the logs. */
struct local_task {
	struct container *newest;
	char *last_name;
};

struct local {
	struct scheduler scheduler;
	const struct job *job;
	char *job_dir;
	struct event_base *base;
	struct scheduler_listener listener;
	struct capacity capacity;
	struct cgroup_home home;
	struct ledger *ledger;
	struct local_task *tasks;
	size_t task_count;
	struct container_queue containers; /* all of them */
	struct container_queue news;	   /* what the AM is to be told, in order */
	struct ask_queue asks;		   /* first come, first served */
	struct event *pump;		   /* settles the asks, then tells the news */
	struct event *changed;		   /* the ledger, while something waits */
	struct event *again;		   /* looks anyway, while something waits */
	bool woken;
	char *waiting; /* as last told */
};

/* ---- local.c ---- */

/* Told from the event loop, soon. */
void local_add_news(struct container *container);
void local_pump_soon(struct local *local);
void local_container_free(struct container *container);

/* ---- local_container.c ---- */

/* Starts the executor; what goes wrong becomes the container's end. */
void container_launch(struct container *container, const struct scheduler_launch *launch);
void container_release(struct container *container, int64_t grace_ms);
/* Ends it here and now, waiting. */
void container_kill(struct container *container);

/* ---- local_queue.c ---- */

int local_queue_open(struct local *local, struct err *err);
void local_queue_close(struct local *local);
/* Queues containers that are all in state CONTAINER_ASKED, to be allocated together. */
void local_queue_add(struct local *local, struct container **containers, size_t count);
void local_queue_remove(struct container *container);
/* Brings the ledger up to date and allocates what can be. */
void local_queue_settle(struct local *local);

#endif
