/*
 * The YARN scheduler's own data, and its parts:
 *   yarn.c            the interface, and what the ResourceManager and NodeManagers tell
 *   yarn_gang.c       what is asked for, held and given back together
 *   yarn_waiting.c    for what the job waits, in words
 *   yarn_container.c  the life of one container
 *   yarn_launch.c     what a container is started with
 *   yarn_cause.c      why a container ended, in words
 *   yarn_adopt.c      containers of the AM before
 *   yarn_avoid.c      machines that no further container should be on
 *   yarn_room.c       where the cluster has room, node by node
 *   yarn_leaving.c    machines that are being decommissioned
 *   yarn_other.c      other jobs, which this one waits for
 *   yarn_place.c      what the AM finds in its own container
 *   yarn_keep.c       journal and metrics in HDFS (journal_copy.h), and those of the AM before
 *   yarn_resource.c   files as NodeManagers are told of them
 *   yarn_store.c      the file system of jobs' files as a store
 *   yarn_diff.c       how the code differed from its commit
 *   yarn_finish.c     what is left of a job at its end
 *   yarn_end.c        the end of a job whose last AM could not tell it (yarn_end.h)
 */
#ifndef TONY_SCHEDULER_YARN_INTERNAL_H
#define TONY_SCHEDULER_YARN_INTERNAL_H

#include <event2/event.h>
#include <sys/queue.h>

#include "base/map.h"
#include "hadoop/application_master.h"
#include "hadoop/cluster.h"
#include "hadoop/credentials.h"
#include "hadoop/node_manager.h"
#include "net/backoff.h"
#include "scheduler/journal_copy.h"
#include "scheduler/scheduler.h"

struct yarn;
struct yarn_gang;
struct store;
struct yarn_diff;

enum yarn_state {
	YARN_PAUSING,	/* its gang was given back and waits for its next try */
	YARN_ASKED,	/* for */
	YARN_HELD,	/* came; others of its gang did not yet */
	YARN_ALLOCATED, /* to be told, or told */
	YARN_LAUNCHED,	/* has an executor, or will have one */
	YARN_REFUSED,	/* to be told */
	YARN_ENDED,	/* to be told */
};

struct yarn_container {
	struct yarn *yarn;
	struct yarn_container *older;	    /* of the same task */
	TAILQ_ENTRY(yarn_container) link;   /* in its task's gang, until it is allocated */
	TAILQ_ENTRY(yarn_container) queued; /* in yarn->asked, while YARN_ASKED */
	TAILQ_ENTRY(yarn_container) news_link;
	bool has_news;
	struct scheduler_request request;
	enum yarn_state state;
	struct yarn_gang *gang;		   /* NULL once it is allocated */
	Hadoop__ContainerProto *proto;	   /* from HELD on, as YARN gave it */
	char *id;			   /* its name for it; NULL before */
	bool told;			   /* the AM knows that it is allocated */
	bool released, stopping, given_up; /* how far its end was ordered */
	bool preempted;			   /* the AM was told that it is to be given back */
	/* Of an earlier AM: YARN has not said yet that it runs (proto is made of what the journal
	 * tells); the AM wants its end when it does. */
	bool is_awaited, is_unwanted, is_reachable;
	int64_t grace_ms;    /* when it is unwanted */
	struct event *timer; /* grace, then how long the NodeManager may take */
	struct cause cause;
	char *refusal;
};
TAILQ_HEAD(yarn_queue, yarn_container);

/* What is allocated at once. */
struct yarn_gang {
	struct yarn *yarn;
	TAILQ_ENTRY(yarn_gang) link;
	struct yarn_queue members;
	size_t count, held;
	struct event *timer; /* how long it may stand still; then how long it pauses */
	bool pausing;
	bool is_woken;	  /* its pause ends early: there is room for all of it */
	char *pause_text; /* why it pauses, or did last; NULL: it never did */
	struct backoff patience, pause;
};
TAILQ_HEAD(yarn_gang_queue, yarn_gang);

struct yarn {
	struct scheduler scheduler;
	const struct job *job;
	char *job_dir, *am_address, *pages_address, *proxy_address;
	struct event_base *base;
	struct scheduler_listener listener;
	struct hadoop_cluster *cluster;
	struct credentials credentials; /* of the AM's own container */
	struct str task_tokens;		/* a task's credentials, as bytes */
	/* Of the types, in their order; and, in the same order behind them, opportunistic ones.
	 * All lists "by kind" have as many entries. */
	struct container_kind *kinds;
	size_t kind_count;
	Hadoop__PlacementConstraintProto **placements;
	struct application_master *master;
	struct node_managers *nodes;
	struct store *store;	      /* the job's directory in HDFS; NULL: it cannot be had */
	struct journal_copy *journal; /* NULL: nothing can be kept */
	struct file_copies *files;    /* NULL: likewise */
	bool journal_troubled, files_troubled;
	struct yarn_diff *diff; /* NULL: there is none, or it cannot be had */
	bool is_registered;
	Hadoop__RegisterApplicationMasterResponseProto *limits; /* NULL: not known */

	struct yarn_container **tasks; /* each task's, newest first */
	size_t task_count;
	struct map *containers;	  /* by id, from HELD on */
	struct yarn_queue *asked; /* by kind: first come, first served */
	int32_t *asked_count;	  /* likewise */
	struct yarn_gang_queue gangs;
	int64_t gang_patience_ms, gang_pause_ms; /* of a gang's first try: see yarn_gang.c */
	struct yarn_queue news;			 /* what the AM is to be told, in order */
	struct event *pump;			 /* tells the news */
	size_t releasing; /* containers whose end was ordered and has not come */
	char *waiting;	  /* as last told */
	/* No other text is told before; how long after the last one that is. */
	int64_t tell_waiting_at, waiting_ms;
	int64_t *given; /* by kind: MiB that a container has after rounding; 0: none came yet */
	int64_t short_since; /* the queue cannot give what is asked for since then; 0: it can */
	int64_t headroom_at; /* when that was told */
	int64_t left_mib; /* so much the queue can still give, as told last; INT64_MAX: not told */
	char *headroom;	  /* what it can give, in words; NULL: enough, as far as is known */
	bool is_guaranteed_noted; /* there are no opportunistic containers, and the owner knows */
	bool is_over;
	struct event
		*unheard; /* when what was adopted must have been heard of; NULL: not yet set */

	struct str_list avoided; /* hosts, the longest avoided first */
	int64_t forgiven_at;	 /* when one was forgiven, as too little came */
	int64_t forgive_ms;	 /* how long the next one is not; doubles */
	int64_t waits_since;	 /* for containers; 0: it does not */
	ProtobufCMessage *room;	 /* getClusterNodes' answer; NULL: none of late */
	int64_t room_at;	 /* when that came, or failed; 0: never asked */
	bool room_is_asked;
	int32_t node_count;    /* of the cluster, as last told; 0: not yet */
	struct map *bad_nodes; /* "host:port": what is wrong with it, in words */
	struct map *leaving;   /* "host:port" of those that are being decommissioned */
	bool follows;	       /* another AM */
	bool leaving_is_asked;
	struct rpc_client *rm; /* its service for clients; NULL: it cannot be asked, for want of a
				  token */
	scheduler_on_other *on_other; /* of the question under way */
	void *on_other_data;

	struct yarn_finish *finish; /* NULL: the job has not ended */
};

/* ---- yarn.c ---- */
struct yarn_container *yarn_find_by_id(struct yarn *yarn, const Hadoop__ContainerIdProto *id);
/* Told from the event loop, soon. */
void yarn_add_news(struct yarn_container *container);
void yarn_pump_soon(struct yarn *yarn);
const struct job_type *yarn_type_of(const struct yarn_container *container);

/* ---- yarn_gang.c ---- */
/* One gang of all these. */
void yarn_gang_ask(struct yarn *yarn, const struct scheduler_request *requests, size_t count);
/* After registration: what was asked for before it is judged by the cluster's limits. */
void yarn_gang_judge_all(struct yarn *yarn);
void yarn_gang_refuse_all(struct yarn *yarn, const char *text); /* what is still asked for */
/* A container of the kind came. */
void yarn_gang_take(struct yarn *yarn, size_t kind, const Hadoop__ContainerProto *proto);
/* It ended, or is not wanted any more, before the AM heard of it. */
void yarn_gang_lose(struct yarn_container *container); /* is asked for again */
void yarn_gang_lose_held(struct yarn *yarn);	       /* all that came for no use */
void yarn_gang_leave(struct yarn_container *container);
void yarn_gang_destroy(struct yarn_gang *gang);

/* ---- yarn_waiting.c ---- */
/* Tells what is waited for, if that changed. */
void yarn_waiting_tell(struct yarn *yarn);
/* `headroom`: so much the queue can still give this user, as the ResourceManager says. */
void yarn_waiting_take_headroom(struct yarn *yarn, const Hadoop__ResourceProto *headroom);
/* Why the gang is given back, before it is; the caller frees. */
char *yarn_waiting_pause(const struct yarn_gang *gang);

/* ---- yarn_container.c ---- */
struct yarn_container *yarn_container_create(struct yarn *yarn,
					     const struct scheduler_request *request);
void yarn_container_free(struct yarn_container *container);
/* Takes what YARN gave, forgets it, and gives it back to YARN. */
void yarn_container_fill(struct yarn_container *container, const Hadoop__ContainerProto *proto);
void yarn_container_empty(struct yarn_container *container);
void yarn_container_give_back(struct yarn_container *container);
void yarn_container_launch(struct yarn_container *container, const struct scheduler_launch *order);
void yarn_container_release(struct yarn_container *container, int64_t grace_ms);
/* True of one that ended before the AM was told of it: its gang has lost it. */
bool yarn_container_ended_unused(struct yarn_container *container);
void yarn_container_completed(struct yarn_container *container,
			      const Hadoop__ContainerStatusProto *status);
void yarn_container_start_failed(struct yarn_container *container, const char *text);
void yarn_container_stop_failed(struct yarn_container *container, const char *text);
/* It will be taken away; `text` says why. */
void yarn_container_preempted(struct yarn_container *container, const char *text);
void yarn_container_end(struct yarn_container *container); /* it has; told from the loop */

/* ---- yarn_adopt.c ---- */
void yarn_adopt(struct scheduler *scheduler, const struct scheduler_adoption *items, size_t count);
/* The ResourceManager says that this one runs since an AM before. */
void yarn_inherit(struct yarn *yarn, const Hadoop__ContainerProto *proto);
void yarn_await_inheritance(struct yarn *yarn); /* after registration */
/* The ResourceManager has said which run, and it was not heard. */
void yarn_inherit_all(struct yarn *yarn);

/* ---- yarn_launch.c ---- */
/* The caller frees it with message_free(). NULL: `err`. */
Hadoop__ContainerLaunchContextProto *yarn_launch_context(const struct yarn_container *container,
							 const struct scheduler_launch *order,
							 struct err *err);

/* ---- yarn_cause.c ---- */
/* `node_state`: what is known to be wrong with its node; NULL: nothing. */
void yarn_judge(struct cause *cause, const struct job_type *type,
		const Hadoop__ContainerStatusProto *status, const char *node_state);

/* ---- yarn_avoid.c ---- */
void yarn_avoid(struct scheduler *scheduler, const char *host);
void yarn_avoid_fewer(struct yarn *yarn);   /* as allows the number of nodes that asks can use */
void yarn_avoid_forgive(struct yarn *yarn); /* one, when too little came for long */

/* ---- yarn_room.c ---- */
struct yarn_room {
	int64_t usable;	 /* nodes that run and could hold one of the kind if they were empty */
	int64_t avoided; /* of these */
	/* Of those that are not avoided: */
	int64_t free;	 /* MiB, in all */
	int64_t fitting; /* so many of the kind find room now */
};
/* MiB that a container of the kind takes, rounded as those that came. */
int64_t yarn_memory_of_one(const struct yarn *yarn, size_t kind);
bool yarn_counts_cores(const struct yarn *yarn); /* the ResourceManager does */
/* Asks the ResourceManager while something is waited for, now and then. */
void yarn_room_ask(struct yarn *yarn);
/* False: not known, or none is usable. */
bool yarn_room_count(const struct yarn *yarn, size_t kind, struct yarn_room *room);
/* Of the hosts that the kind could use; NULL: none is avoided. */
const char *yarn_room_oldest_avoided(const struct yarn *yarn, size_t kind);

/* ---- yarn_leaving.c ---- */
/* `name`: "host:port". The node is being decommissioned, or is not any more, since it stays or has
 * gone. */
void yarn_node_leaves(struct yarn *yarn, const char *name, const Hadoop__NodeReportProto *node);
void yarn_node_left(struct yarn *yarn, const char *name, bool stays);
/* Of an AM that follows another one: of which nodes was that one told? */
void yarn_leaving_ask(struct yarn *yarn);
void yarn_leaving_free(void *value);

/* ---- yarn_other.c ---- */
bool yarn_look_at(struct scheduler *scheduler, const struct awaited *awaited,
		  struct scheduler_other *other, scheduler_on_other *done, void *data);

/* ---- yarn_proxy.c ---- */
/* Of an AM in its container: scheduler_place.proxy_tls. */
struct tls_context *yarn_proxy_tls(const struct job *job);

/* ---- yarn_place.c ---- */
int yarn_find_place(const char *job_dir, struct scheduler_place *place, struct err *err);
int yarn_container_find(struct scheduler_container *container, struct err *err);

/* ---- yarn_keep.c ---- */
/* Of a `struct yarn`: no other AM can be at work on this job. Whatever is not the ResourceManager's
 * to refuse, at NodeManagers and in HDFS, is done only then. */
bool yarn_may_act(void *data);
enum scheduler_standing yarn_standing(const struct scheduler *scheduler);
/* Without it the job runs on, and an AM that follows begins it anew. */
void yarn_open_copies(struct yarn *yarn, const struct scheduler_place *place);
void yarn_append_journal(struct scheduler *scheduler, int64_t sequence);
void yarn_file_written(struct scheduler *scheduler, const char *path);
int yarn_recover(const struct job *job, const char *job_dir, const struct scheduler_place *place,
		 struct err *err);

/* ---- yarn_diff.c ---- */
/* Brings it to the AM's directory, as soon as the client has written it. */
void yarn_diff_open(struct yarn *yarn);
bool yarn_diff_await(struct scheduler *scheduler, void (*done)(void *data), void *data);
void yarn_diff_destroy(struct yarn_diff *diff); /* NULL is fine */

/* ---- yarn_finish.c ---- */
bool yarn_finish(struct scheduler *scheduler, const struct scheduler_end *end,
		 void (*done)(void *data), void *data);
void yarn_finish_destroy(struct yarn_finish *finish);

#endif
