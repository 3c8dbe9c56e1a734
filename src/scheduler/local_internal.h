/* The local scheduler's own data: local.c is its interface, local_container.c the life of one
 * container, local_adopt.c that of one which an earlier AM launched, local_queue.c what waits for
 * the ledger, local_hold.c what outlives an AM. */
#ifndef TONY_SCHEDULER_LOCAL_INTERNAL_H
#define TONY_SCHEDULER_LOCAL_INTERNAL_H

#include <event2/event.h>
#include <sys/queue.h>

#include "scheduler/allotment.h"
#include "scheduler/cgroup.h"
#include "scheduler/child.h"
#include "scheduler/scheduler.h"
#include "scheduler/shared_ledger.h"

/* Where tasks reach each other: all are on this machine. */
#define LOCAL_HOST "127.0.0.1"

/* An executor that is told to end has its job's grace; this is for its program's last lines. */
enum { LOCAL_KILL_NOTICE_MS = 250 };

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
	int status; /* of the executor, from waitpid(2), if it was this AM's child */
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
	bool is_optional;
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
	char *job_dir, *am_address;
	int am_attempt;
	int lifeline; /* for executors: ends with the AM's last process */
	struct event_base *base;
	struct scheduler_listener listener;
	struct capacity capacity;
	struct cgroup_home home;
	struct ledger *ledger;
	struct shared_ledger *shared; /* NULL: jobs of other users are not seen */
	int shared_hold;	      /* what keeps its entry; -1 */
	struct neighbours neighbours; /* as last read */
	struct local_task *tasks;
	size_t task_count;
	struct container_queue containers; /* all of them */
	struct container_queue news;	   /* what the AM is to be told, in order */
	struct ask_queue asks;		   /* first come, first served; what is optional last */
	struct event *pump;		   /* settles the asks, then tells the news */
	struct event *changed;		   /* the ledger, while something waits */
	struct event *again;		   /* looks anyway, while something waits */
	bool woken;
	char *watched;		     /* the job whose entry is watched; NULL: all are */
	char *behind;		     /* the job before this one in the queue; NULL: none */
	int64_t behind_ticket;	     /* as which it waits */
	int64_t look_ms;	     /* monotonic: when all is looked at, though that one waits */
	bool contended;		     /* another user wanted the same at the same time */
	char *waiting;		     /* as last told */
	char *fault;		     /* of the ledger of all users, as last told; NULL: none */
	struct event *removed;	     /* tells that the entry there may be gone; NULL: not watched */
	struct local_finish *finish; /* NULL: the job has not ended */
	LIST_HEAD(, local_child) children;
};

/* ---- local.c ---- */

/* Told from the event loop, soon. */
void local_add_news(struct container *container);
void local_pump_soon(struct local *local);
/* For the removal of the own entry in the ledger of all users, whichever file that is now. */
void local_watch_shared(struct local *local);
struct container *local_container_add(struct local *local, const struct scheduler_request *request);

/* ---- local_container.c ---- */

/* Starts the executor; what goes wrong becomes the container's end. */
void container_launch(struct container *container, const struct scheduler_launch *launch);
void container_release(struct container *container, int64_t grace_ms);
/* Ends it here and now, waiting. */
void container_kill(struct container *container);
/* Goes on with one that an earlier AM allocated, whatever has become of it: CONTAINER_ALLOCATED
 * when no executor was started. */
void container_adopt(struct container *container);

/* ---- local_adopt.c ---- */

void local_adopt(struct scheduler *scheduler, const struct scheduler_adoption *items, size_t count);

/* ---- local_place.c ---- */
int local_find_place(const char *job_dir, struct scheduler_place *place, struct err *err);
int local_container_find(struct scheduler_container *container, struct err *err);

/* ---- local_hold.c ---- */

enum local_hold {
	LOCAL_HOLD_LIFE,   /* clients see by it that the job has an AM, or will have one again */
	LOCAL_HOLD_LEDGER, /* the job's entry */
	LOCAL_HOLD_LIFELINE,
	LOCAL_HOLD_LIFELINE_END, /* the writing end, which nobody writes to */
	LOCAL_HOLD_SHARED,	 /* the entry in the ledger of all users; -1: there is none */
	LOCAL_HOLD_COUNT,
};
int local_hold(const struct job *job, const char *job_dir, struct scheduler_hold *hold,
	       struct err *err);
void local_clean(const struct job *job, const char *job_dir, struct scheduler_hold *hold);

/* ---- local_queue.c ---- */

int local_queue_open(struct local *local, struct err *err);
void local_queue_close(struct local *local);
/* Queues containers that are all in state CONTAINER_ASKED, to be allocated together: one or more
 * that are needed, or a single optional one. */
void local_queue_add(struct local *local, struct container **containers, size_t count);
void local_queue_remove(struct container *container);
/* Brings the ledger up to date and allocates what can be. */
void local_queue_settle(struct local *local);

/* ---- local_finish.c ---- */

bool local_finish(struct scheduler *scheduler, const struct scheduler_end *end,
		  void (*done)(void *data), void *data);
void local_finish_destroy(struct local_finish *finish); /* NULL is fine */

#endif
