/*
 * Where containers come from: one const struct per scheduler for the AM's side and one for the
 * client's, one line in the table of scheduler.c. The local scheduler is the default and lives in
 * the AM's own process.
 */
#ifndef TONY_SCHEDULER_SCHEDULER_H
#define TONY_SCHEDULER_SCHEDULER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"
#include "history/layout.h"
#include "job/awaited.h"
#include "job/job.h"
#include "job/machine.h"
#include "net/http_client.h"

struct am_call;
struct am_calls;
struct event_base;
struct job_logs;
struct job_view;
struct local_engine;
struct removal;
struct scheduler_nodes;
struct scheduler_queues;
struct share;

/* ---- what an engine is -------------------------------------------------------------------- */

/* The AM, the client and the process in a container go by these, never by whether an engine has a
 * function. A function that a trait names is there when the trait is set, and only then. */
struct scheduler_traits {
	const char *name;
	/* In <state>/FOLDER/ID this machine has the job's directory or, with remote_am, its copy.
	 */
	const char *folder;
	/* All containers are on the AM's machine: there is none to avoid(). */
	bool one_host;
	/* Containers see the files of this machine under the paths that they have here. */
	bool shares_files;
	/* stage() brings files to where containers find them. */
	bool staged;
	/* preflight() gives the job the engine's own id. */
	bool own_ids;
	/* The AM's directory is on another machine, and goes with the AM: its journal and metrics
	 * are brought elsewhere while it lives, recover() fetches them for the next AM, and a
	 * client works in a copy of the directory, which pull() brings up to date. */
	bool remote_am;
	/* The engine starts another AM for one that was killed, and that one has another address.
	 * Not set: the AM's guardian does, and hold() says what outlives a killed AM. */
	bool restarts_am;
	/* A container starts its executor as soon as there is a place for it: request() says all
	 * that launch() would say. The executor may register before `allocated` is told. */
	bool starts_by_itself;
	/* People reach the job's page through a proxy of the engine's: web_proxies(), page(). */
	bool has_proxy;
	/* Tokens by which a job's processes ask other services come with its containers, and end
	 * some day: renew() gets others, take_tokens() takes them. */
	bool has_tokens;
	/* With has_tokens: it renews those of the submission for as long as their services allow.
	 */
	bool renews_tokens;
	/* It gives users what proves to an AM who they are: find_secret(), and a door's
	 * identity. */
	bool names_users;
	/* A service on the network knows the jobs: is_there() tells whether this user has one, and
	 * answers() whether it can be reached. Not set: every user has the engine. */
	bool is_service;
	/* neighbours() tells before a submission what other users hold. Not set: the engine tells
	 * it only of a job that waits. */
	bool tells_neighbours;
	/* nodes() and queues() tell what there is, and what of it is free. */
	bool tells_resources;
	/* history_trouble() tells why an ended job's history will not be published. */
	bool tells_history_trouble;
	/* No engine: it has the histories of ended jobs, and of its functions find() and logs(). */
	bool is_history;
};

extern const struct scheduler_traits local_traits, yarn_traits;
/* Of the job's engine; NULL: this program knows none of that name. */
const struct scheduler_traits *scheduler_traits_of(const struct job *job);

/* Files of an AM's directory, with the queues of splits for the one that follows. */
#define SCHEDULER_SPLIT_LIST  "splits.list"
#define SCHEDULER_SPLIT_STATE "splits.state"

/* ---- the AM's side ------------------------------------------------------------------------ */

/* A container for one attempt of one task. */
struct scheduler_request {
	size_t task;
	int attempt;
	size_t type; /* of job->types: its memory, vcores, gpus, label */
	int index;
	/* Of an elastic type, and beyond what the job needs to run: it belongs to no gang, and
	 * holds up nobody, neither others of this job nor, where the scheduler can tell, other
	 * jobs. */
	bool is_optional;
};

/* What an executor is started with, the same on every scheduler. */
struct scheduler_launch {
	size_t task;
	int attempt;
	const char *task_name;	/* "worker:0" */
	const char *am_address; /* "127.0.0.1:4000" */
};

/* The scheduler tells the AM; never called from within a call of the AM into the scheduler. */
struct scheduler_listener {
	void *data;
	void (*allocated)(void *data, size_t task, int attempt, const char *container,
			  const char *host);
	/* The ask can never be met; `text` has the numbers. */
	void (*refused)(void *data, size_t task, int attempt, const char *text);
	/* The container is gone. `cause` says what the scheduler knows (CAUSE_NONE: it just ended).
	 */
	void (*ended)(void *data, size_t task, int attempt, const struct cause *cause);
	/* Why open asks are not met yet ("waits for 8.0 GiB: 3.2 GiB free, job X holds 20 GiB");
	 * NULL: nothing waits any more. */
	void (*waiting)(void *data, const char *text);
	/* The container will be taken away soon: release it, so that it ends in good order. */
	void (*preempted)(void *data, size_t task, int attempt, const struct cause *cause);
	/* This AM is no longer the one of its job, or the scheduler is out of reach for good: it
	 * must leave, and nothing can be asked or told any more. */
	void (*dismissed)(void *data, const char *text);
	/* How much of the job is done, 0 to 1, for the scheduler's own display. */
	double (*progress)(void *data);
	/* An AM that follows will find all lines of the journal up to this one. INT64_MAX: it may
	 * not, and nobody is to wait for that. */
	void (*journal_kept)(void *data, int64_t sequence);
	/* The job goes on, but its owner should know this. */
	void (*noted)(void *data, const char *text);
	/* The engine cannot write what an AM that follows needs; NULL: it can (again). Told as
	 * often as it pleases. */
	void (*store_trouble)(void *data, const char *text);
};

/* What an AM finds where its scheduler started it; owned. */
struct scheduler_place {
	struct job *job; /* whoever takes it leaves NULL */
	char *job_dir;	 /* where the AM keeps the job's files */
	/* "NAME=VALUE", in the environment of every process of the AM's: what is ended with it. An
	 * engine that starts AMs in the job's directory gives each one a TONY_AM of its own. */
	char *mark;
	char *container; /* the scheduler's name for the AM's own; NULL: it has none */
	char *token;	 /* the job's bearer token */
	char *journal;	 /* path of the journal */
	char *host;	 /* name or numeric address by which others reach this machine */
	int am_attempt;	 /* which AM of the job this is, from 1 */
	/* Another AM may follow this one: that its processes are told to end, or killed, is not the
	 * job's end. */
	bool may_return;
	/* The job's description came from elsewhere: no command in it is run on this machine. */
	bool is_brought;
	/* By which the engine's web proxy proves itself (tls_context_demand()). NULL: its address
	 * does. */
	struct tls_context *proxy_tls;
};
void scheduler_place_finish(struct scheduler_place *place);

/* An executor finds this where its scheduler started it, beside the variables that all schedulers
 * set (executor/settings.c). The caller frees all of it, also what a find() that failed left. */
struct scheduler_container {
	struct job *job;  /* with shares_files it is there before find() */
	char *token;	  /* the job's bearer token */
	char *token_file; /* for the program, which finds it there */
	char *dir;	  /* for cluster.json and secrets: its owner's only */
	char *log_dir;	  /* for stdout and stderr */
	/* When the scheduler itself ends the container, at least so long after SIGTERM. */
	int64_t kill_notice_ms;
};

/* Descriptors that are open as long as any process of an AM lives: what would otherwise be given up
 * when one is killed and another follows it. What they are is the scheduler's own affair. */
enum { SCHEDULER_HOLD_MAX = 5 };
struct scheduler_hold {
	int fds[SCHEDULER_HOLD_MAX];
	size_t count;
};

/* Borrowed, but for the listener, which is copied. */
struct scheduler_setup {
	const struct job *job;
	const char *job_dir; /* where the AM keeps the job's files */
	const struct scheduler_place *place;
	const char *am_address;	   /* HOST:PORT of its interface */
	const char *pages_address; /* HOST:PORT where browsers may look; the same without TLS */
	const char *proxy_address; /* HOST:PORT where place->proxy_tls is spoken; NULL: nowhere */
	const struct scheduler_hold *hold; /* NULL with restarts_am */
	struct event_base *base;
	struct scheduler_listener listener;
};

/* A container that an earlier AM of this job had, as its journal tells. Borrowed. */
struct scheduler_adoption {
	struct scheduler_request request;
	const char *container; /* as `allocated` named it; NULL: it has not, and does so now */
	const char *host;      /* NULL: not known */
	/* Its executor can be told where this AM is. */
	bool is_reachable;
	/* It was asked for, and whether it was allocated is not known: no `container`. Only where
	 * containers start by themselves: the next request() for it finds it. Its executor, if it
	 * has one, knows the AM before this one alone: another one is started in its place. */
	bool is_asked;
};

/* Whether this AM is its job's, as the engine sees it. */
enum scheduler_standing {
	SCHEDULER_NOT_KNOWN, /* it has not answered (yet, or for a while): ask again when it has */
	SCHEDULER_CURRENT,   /* it cannot have started another one */
	SCHEDULER_DISMISSED, /* see scheduler_listener.dismissed */
};

/* How another job of the same user stands on the same engine. */
struct scheduler_other {
	enum {
		SCHEDULER_OTHER_NOT_KNOWN, /* the engine does not answer: ask again */
		SCHEDULER_OTHER_LIVES,
		SCHEDULER_OTHER_ENDED,
		/* Nothing runs it, or nothing is known of it. Just after its submission, and while
		 * another AM follows, that may be so for moments. */
		SCHEDULER_OTHER_GONE,
	} standing;
	enum job_state state; /* of one that has ended */
	/* One line: why it ended, does not run, or cannot be looked at. NULL: it is not known. */
	char *message;
};
void scheduler_other_finish(struct scheduler_other *other);
typedef void scheduler_on_other(void *data, const struct scheduler_other *other);

/* Of the tokens by which the job's processes ask other services, the one that ends first. */
struct scheduler_tokens {
	char *first; /* "HDFS_DELEGATION_TOKEN for 10.0.0.5:8020"; NULL: there are none. The
			caller frees */
	int64_t issued_ms, ends_ms;
	int64_t interval_ms; /* one that is not renewed ends so long after it was issued */
};
/* With has_tokens; `tokens` is {0}. */
void scheduler_tokens_look(const struct job *job, struct scheduler_tokens *tokens);
/* The same of those that scheduler_client_ops.renew() has got. */
void scheduler_tokens_look_at(const struct job *job, const struct str *bytes,
			      struct scheduler_tokens *tokens);
/* Wall time. `is_renewed`: the scheduler renews it. */
static inline int64_t scheduler_tokens_good_until(const struct scheduler_tokens *tokens,
						  bool is_renewed)
{
	int64_t end = tokens->issued_ms + tokens->interval_ms;

	return is_renewed || end > tokens->ends_ms ? tokens->ends_ms : end;
}

/* How the job ended. */
struct scheduler_end {
	enum job_state state;
	const char *message; /* one line: the first cause */
	const char *journal; /* path; it has its last line */
	const char *history; /* the directory in which all that is to be kept of the job was packed
				(history/pack.h); NULL: it could not be */
};

/* The first member of every scheduler's own struct. */
struct scheduler {
	const struct scheduler_ops *ops;
};

/* For the guardian of an AM, which is there before the first AM and after the last. */
struct scheduler_guardian_ops {
	/* For a process that does in `job_dir` what the guardian of a job's last AM would have
	 * done, had it not been killed: the journal has its last line. With remote_am; else
	 * find_place() does. */
	int (*find_end)(const char *job_dir, struct scheduler_place *place, struct err *err);
	/* Before there is an AM. Not with restarts_am, nor is clean(). */
	int (*hold)(const struct job *job, const char *job_dir, struct scheduler_hold *hold,
		    struct err *err);
	/* Removes what a killed AM could not, once no process of the job is left, and gives up the
	 * hold. */
	void (*clean)(const struct job *job, const char *job_dir, struct scheduler_hold *hold);
	/* The history of a job that has ended is brought to where it is kept, unless it is there;
	 * the journal tells of a failure. With restarts_am no other AM is to follow. */
	void (*publish)(const struct job *job, const char *job_dir);
};

/* For the process in a container. */
struct scheduler_container_ops {
	/* Was this process started in a container of this scheduler? Not with shares_files: there
	 * TONY_JOB_FILE names the job's description, which says whose it is. */
	bool (*is_here)(void);
	int (*find)(struct scheduler_container *container, struct err *err);
	/* With has_tokens: this container's processes find these from now on, as renew() has got
	 * them, in place of those of the same services. 1: it had them all; -1: they are none for
	 * it. */
	int (*take_tokens)(const void *bytes, size_t length, struct err *err);
};

/* A job that a task submits. */
struct scheduler_child {
	const char *job_id, *agent; /* and the program of its AM */
	mode_t umask;		    /* its submitter's */
};

/* For the AM, and for the two others. */
struct scheduler_ops {
	const struct scheduler_traits *traits;
	struct scheduler_guardian_ops guardian;
	struct scheduler_container_ops container;
	/* All but the job of one that `job_dir` tells. */
	int (*find_place)(const char *job_dir, struct scheduler_place *place, struct err *err);
	/* Before the AM opens its journal: brings what earlier AMs of this job wrote to
	 * place->journal, if there were any, and the files of file_written() to `job_dir`. With
	 * remote_am, as are the next two and await_files(). */
	int (*recover)(const struct job *job, const char *job_dir,
		       const struct scheduler_place *place, struct err *err);
	/* Lines up to this one are in the journal: they are brought to where recover() finds them,
	 * which journal_kept tells. */
	void (*journal_appended)(struct scheduler *scheduler, int64_t sequence);
	/* This file has changed: the metrics so far (metrics.jsonl), SCHEDULER_SPLIT_LIST or
	 * SCHEDULER_SPLIT_STATE. It is brought to where recover(), and whoever finds the job dead,
	 * look for it, some time after. */
	void (*file_written)(struct scheduler *scheduler, const char *path);
	struct scheduler *(*open)(const struct scheduler_setup *setup, struct err *err);
	/* For an AM that goes on with the job of an earlier one: called once, after open() and
	 * before all else, also with a count of 0. These containers are the AM's from now on, as if
	 * it had launched them: no `allocated` is told of them, release() ends them, and `ended` is
	 * told, from the loop, of each that is gone or goes. One that was allocated and never
	 * launched is launched, or told as ended. What the earlier AM had besides these is ended,
	 * and what it had asked for is forgotten: the AM asks again. */
	void (*adopt)(struct scheduler *scheduler, const struct scheduler_adoption *items,
		      size_t count);
	/* Whether this AM may still do what only one AM of a job may. With restarts_am. An answer
	 * of the engine's that changes it wakes the loop. */
	enum scheduler_standing (*standing)(const struct scheduler *scheduler);
	/* How the job stands that this one waits for. True: *other says it, which the caller
	 * finishes. False: `done` is called, from the loop. One question at a time. */
	bool (*look_at)(struct scheduler *scheduler, const struct awaited *awaited,
			struct scheduler_other *other, scheduler_on_other *done, void *data);
	/* Starts, beside this AM, that of a job which a task of this one has submitted, and whose
	 * directory is beside this one's. The process, or -1. NULL: there are none. */
	pid_t (*start_child)(struct scheduler *scheduler, const struct scheduler_child *child,
			     struct err *err);
	/* Asks for all of these; with JOB_MODE_GANG none is allocated before all can be that are
	 * not optional. */
	void (*request)(struct scheduler *scheduler, const struct scheduler_request *requests,
			size_t count);
	void (*cancel)(struct scheduler *scheduler, size_t task, int attempt);
	/* Starts the executor. A failure is told through `ended` with CAUSE_LAUNCH_FAILED. Not with
	 * starts_by_itself: there cancel() ends what was started. */
	void (*launch)(struct scheduler *scheduler, const struct scheduler_launch *launch);
	/* Ends the container: the executor gets `grace_ms` to leave by itself (it was told to),
	 * then all of the container's processes are killed. Told through `ended`. */
	void (*release)(struct scheduler *scheduler, size_t task, int attempt, int64_t grace_ms);
	/* Asks for no further container on this machine, as `allocated` named it, if there are
	 * others. */
	void (*avoid)(struct scheduler *scheduler, const char *host);
	/* Path of a task's log file ("stdout", "stderr", ...) if this machine can read it, or NULL.
	 * The caller frees. */
	char *(*log_path)(struct scheduler *scheduler, size_t task, const char *name);
	/* With has_proxy: hosts of the scheduler's own web proxy, through which people look at the
	 * job. *proves: it knows who they are. */
	const struct str_list *(*web_proxies)(const struct scheduler *scheduler, bool *proves);
	/* With has_tokens: as scheduler_container_ops.take_tokens(), for the AM, and for containers
	 * that are yet to be started. */
	int (*take_tokens)(struct scheduler *scheduler, const void *bytes, size_t length,
			   struct err *err);
	/* With names_users: the secret that proves `identity`, and whose it is (tls_people). */
	char *(*find_secret)(struct scheduler *scheduler, const char *identity, char **user);
	/* With names_users: the engine's administrators, who look and change as its owner does
	 * (base/acl.h); NULL: they are not known. */
	const char *(*administrators)(const struct scheduler *scheduler);
	/* At the job's end: whether all that its history needs is in `job_dir`. False: something is
	 * on its way, and `done` is called from the loop once that is there, or will not be. */
	bool (*await_files)(struct scheduler *scheduler, void (*done)(void *data), void *data);
	/* Brings the job's history to where it is kept, and tells who else asks the scheduler how
	 * the job ended, once all containers have. False: that takes a while, and `done` is called
	 * from the loop, whether it could be done or not. */
	bool (*finish)(struct scheduler *scheduler, const struct scheduler_end *end,
		       void (*done)(void *data), void *data);
	/* Kills what is left and frees. Not from within a listener's call. */
	void (*close)(struct scheduler *scheduler);
};

const struct scheduler_ops *scheduler_find(const char *name);
/* In whose container this process was started, one without TONY_JOB_FILE; NULL: in nobody's. */
const struct scheduler_ops *scheduler_here(void);
/* For the process in a container; NULL: `err`. */
const struct scheduler_ops *scheduler_find_container(struct scheduler_container *container,
						     struct err *err);
/* The AM's place, and that of a process at a job's last duty. `job_dir`: NULL: as the scheduler of
 * this container says. */
const struct scheduler_ops *scheduler_find_place(const char *job_dir, struct scheduler_place *place,
						 struct err *err);

/* ---- the client's side -------------------------------------------------------------------- */

/* How to reach a job's AM. */
struct job_door {
	char *job_dir; /* local: where job.json, token, journal and logs are. Elsewhere: this
			  machine's copy of the first three, which pull() brings up to date */
	char *address; /* "127.0.0.1:4000"; NULL: the AM is not there (yet, or any more) */
	char *token;
	/* By which the AM finds the token, that of a user whom the engine names to it; NULL: it is
	 * the job's own. */
	char *identity;
	uid_t owner;	/* of an AM on this machine; SOCKET_OWNER_ANY: it is not known */
	bool is_sealed; /* its AM speaks TLS alone, by the token (net/tls.h) */
	bool ended;	/* the final record is written: read the journal, not the AM */
	int am_attempt; /* that writes the journal in job_dir: another one goes on with a copy. 0:
			   all write the same one */
	int64_t ask_ms; /* between two questions to the engine, which cost it much; 0: they do not
			 */
	/* Whose it is, as a store or the engine tells; NULL: this user's, who submitted it here. */
	char *user;
	bool is_others; /* than this user's, as the store or the engine tells */
	/* "belongs to bob": why tony does not use its record (job_stores_doubt()); NULL: its engine
	 * knows the job, or the record is this user's own. */
	char *doubt;
	char *queue; /* where the job is now; NULL: where it was submitted to, as far as is known */
	char *waiting; /* why there is no AM yet, or none at the moment, as the engine tells; NULL:
			  it  does not, or there is one */
	/* Of an ended job whose final record is not here (yet): its end as the engine tells it, one
	 * line, for when the AM does not answer. NULL: it tells none. */
	char *end_message;
	enum job_state end_state;
	int64_t end_ms;
	/* Why job_dir has no job.json that can be read, of a job that lives and can be killed all
	 * the same; with the remedy. */
	struct err undescribed;
	int claim; /* local: says, as long as it is open, that a new job is being submitted;
		      0: none */
};
void job_door_finish(struct job_door *door);
#define cleanup_job_door __attribute__((cleanup(job_door_finish)))

/* The AM, as far as it has an address. Borrowed. */
struct http_target job_door_target(const struct job_door *door);
/* http_call() to the AM, which has an address: `door->owner` alone is shown the token. */
int job_door_call(const struct job_door *door, const char *method, const char *path,
		  const char *body, int64_t timeout_ms, int *status, struct str *response,
		  struct err *err);

/* A pull() that does not wait for the AM: it starts the question, and a later one takes the answer.
 */
struct pull_aside {
	struct am_calls *calls; /* NULL: it waits */
	struct am_call *call;	/* NULL: nothing is asked. The caller drops it */
	int64_t since;
};
enum { PULL_PENDING = 2 };

#define ANY_USER	   "*"
#define SCHEDULER_AS_KNOWN (-1)

struct job_summary {
	char *id, *name, *user, *framework;
	char *owner;		 /* of its record in a history; NULL: it has none */
	bool is_others;		 /* another user's */
	bool is_claimed;	 /* `user` is what a bucket's record says, which has no owner */
	char *scheduler, *queue; /* NULL: not known; it has none */
	struct str_list tags;
	int64_t task_count; /* 0: not known */
	enum job_state state;
	int64_t submitted_ms, ended_ms; /* 0: not ended */
	char *message;			/* how it ended, one line; NULL: not known */
	char *waiting; /* for what, while it lives; NULL: for nothing, or not known */
	char *parent;  /* the job of which a task submitted it; NULL: none did, or not known */
};

void job_summary_finish(struct job_summary *job);
void job_summary_copy(const struct job_summary *from, struct job_summary *to);
void job_summaries_free(struct job_summary *jobs, size_t count);
void job_summaries_sort(struct job_summary *jobs, size_t count); /* the newest first */

/* Something that the tasks of a type are to find in their working directory. */
struct scheduler_file {
	const char *source; /* absolute path on this machine, or a URI */
	const char *name;   /* relative, without ".." */
	bool archive;	    /* is to be a directory: `source` is one, or an archive */
	bool optional;	    /* a URI: left out, with a warning, when nothing is there */
	size_t type;	    /* of job->types */
};

struct scheduler_staging {
	const struct scheduler_file *files;
	size_t count;
	/* Writes directory `source`, or an archive of any form, to `fd` as tar.gz. */
	int (*pack)(const char *source, int fd, struct err *err);
	/* How much of `name` is sent; false: stop, which fails with "interrupted". */
	bool (*progress)(void *data, const char *name, int64_t sent, int64_t total);
	void *data;
};

/* A file that stage() has sent for a job. */
struct scheduler_sent {
	char *url; /* the caller frees */
	bool archive;
};

struct scheduler_negotiator {
	/* Takes the only token of a browser's, and appends what it is to be sent. The user as the
	 * cluster calls him, for the caller to free; NULL: ERR_DENIED. `channel`: of the connection
	 * by which it came (tls_end_point()), empty without TLS. */
	char *(*take)(struct scheduler_negotiator *negotiator, const struct str *token,
		      const struct str *channel, struct str *answer, struct err *err);
	void (*close)(struct scheduler_negotiator *negotiator);
};

struct scheduler_client_ops {
	const struct scheduler_traits *traits;
	/* Jobs are directories of this machine (local_job.h), and the engine has no find(), list(),
	 * remove() and ended() of its own. NULL: it has. Others call scheduler_find_job() and so
	 * on. */
	const struct local_engine *directories;
	/* Has this user such a scheduler? With is_service. */
	bool (*is_there)(void);
	/* With is_service: why this user has none although the environment or the machine names one
	 * ("NAME: ..."); NULL: neither does. The caller frees. */
	char *(*absence)(void);
	/* With is_service: where its configuration was found, which this user's environment does
	 * not name ("on YARN, from DIRECTORY"); NULL: it does, or there is none. The caller frees.
	 */
	char *(*found)(void);
	/* With it each id of a job here begins: any other text is a name. */
	const char *id_beginning;
	/* Can `id` be nothing but the whole id of a job here? *days: when such a job can have been
	 * submitted, as far as the id tells. */
	bool (*is_id)(const char *id, struct history_days *days);
	/* Can this job ever run here? The refusal names the numbers. A cluster gives the job an id
	 * of its own, unless it has one, its user's name there, job->engine and
	 * job->stores. *given: what all tasks will get, preset to what they ask for. */
	int (*preflight)(struct job *job, struct share *given, struct err *err);
	/* Tells the job's owner what other users hold now of what it asks for, or that their jobs
	 * are not seen. Returns NULL when there is nothing to tell; the caller frees. With
	 * tells_neighbours. */
	char *(*neighbours)(const struct job *job);
	/* With tells_resources: what there is (resources.h), for all users, and how much of it this
	 * one may have. The caller finishes it, whatever the result. */
	int (*nodes)(struct scheduler_nodes *nodes, struct err *err);
	int (*queues)(struct scheduler_queues *queues, struct err *err);
	/* With staged: brings files to where containers find them, each content once and for all
	 * jobs of the user, and notes that in job->engine. Else job->types[].files say where they
	 * are (client/stage.h). */
	int (*stage)(struct job *job, const struct scheduler_staging *staging, struct err *err);
	/* Makes the job's directory, with token and job.json; unless the engine is staged, the
	 * caller then fills it (client/stage.h), and start()s. When it cannot be filled, the caller
	 * removes door->job_dir. */
	int (*prepare)(const struct job *job, struct job_door *door, struct err *err);
	/* Starts the AM. 0: it is up, or it could not start and the job's journal ends with a final
	 * record that says why. -1: no process of the job runs, and door->job_dir is removed;
	 * or, ERR_UNREACHABLE, that is not known, and it stays. */
	int (*start)(const struct job *job, struct job_door *door, struct err *err);
	/* After a submission, where nobody waits: removes some of what ended jobs have left, and
	 * of what stage() has sent and no job has used for `max_age_ms` (0: none of that). */
	void (*upkeep)(const struct job *job, int64_t max_age_ms);
	/* By full id, unique prefix, name of the newest live job, else of the newest that has
	 * ended, or NULL for the newest. */
	int (*find)(const char *id, struct job_door *door, char **full_id, struct err *err);
	/* 0: find() and list() need not be waited for. -1: the scheduler has not answered within
	 * this time, and `err` says why. With is_service; else nobody ever waits for them. */
	int (*answers)(int64_t within_ms, struct err *err);
	/* Newest first; what ended before `ended_since_ms` may be left out: it costs less.
	 * SCHEDULER_AS_KNOWN: all, and one that this machine knows is not looked at: it may be
	 * gone. `user`: whose, ANY_USER: everybody's, as far as the engine tells; NULL: this
	 * user's. */
	int (*list)(const char *user, int64_t ended_since_ms, struct job_summary **jobs,
		    size_t *count, struct err *err);
	/* With remote_am: appends to the journal in door->job_dir what the AM has written since, or
	 * will have within hold_ms. 1: there is no AM at that address (any more). PULL_PENDING: the
	 * AM has not answered what `aside` has asked. Else door->job_dir is the job's own. */
	int (*pull)(const struct job_door *door, int64_t hold_ms, struct pull_aside *aside,
		    struct err *err);
	/* The logs of the job's containers, while they run and after (logs/job_logs.h). `door` is
	 * to outlive it; the caller destroys it. */
	struct job_logs *(*logs)(const struct job_door *door, const struct job *job,
				 struct err *err);
	/* The same of an ended job, for others whom its owner lets look at it: with this process's
	 * rights, and found by nothing but the job's id and the user who owns its history. It
	 * waits for nothing. NULL: ERR_NOT_FOUND, there is nothing (yet, or any more). */
	struct job_logs *(*logs_shown)(const struct job *job, const char *id, const char *owner,
				       struct err *err);
	/* With staged: brings how the code of `job` differed from its commit to `job_dir`, this
	 * machine's copy of the job. 0 also where it is there already, or the job has none. */
	int (*fetch_diff)(const struct job *job, const char *job_dir, struct err *err);
	/* With has_proxy: where the job's page is behind the scheduler's own web proxy, or NULL;
	 * the caller frees. */
	char *(*page)(const struct job *job);
	/* With has_proxy: the beginning of the address of the engine's own page of a job, whose id
	 * follows; NULL: no such engine is configured. The caller frees. */
	char *(*pages)(void);
	/* With has_tokens: appends new ones for the processes of `job`, as secret as a password, as
	 * take_tokens() takes them, and names their services in `names`. ERR_USAGE: it has none;
	 * ERR_CONFIG: they would cross the network in the clear. */
	int (*renew)(const struct job *job, struct str *tokens, struct str_list *names,
		     struct err *err);
	/* With has_tokens: users of the engine's cluster prove to a web server who they are (HTTP's
	 * "Negotiate"). `keytab`: a file with the server's keys. NULL: ERR_CONFIG. */
	struct scheduler_negotiator *(*open_negotiator)(const char *keytab, struct err *err);
	/* With staged: where the file that the tasks of a type found as `name` is kept. 1: it is
	 * not known. */
	int (*find_sent)(const struct job *job, size_t type, const char *name,
			 struct scheduler_sent *sent, struct err *err);
	/* With tells_history_trouble: why no history of this ended job will be published, as far as
	 * that is seen at once; NULL: nothing is seen. The caller frees. */
	char *(*history_trouble)(const struct job *job, const char *job_dir);
	/* Ends a job whose AM does not answer, or is not there; `reason` (NULL: none) is the job's
	 * last word where there is no other. */
	int (*kill)(const struct job_door *door, const char *reason, struct err *err);
	/* With remote_am: ends a job whose first AM is still waited for, at once, since nothing of
	 * it runs that could need time to stop. `reason` as for kill(). 1: an AM of it runs or has
	 * run, or that is not known: nothing was done. An AM that starts just then is killed. */
	int (*kill_waiting)(const struct job_door *door, const char *reason, struct err *err);
	/* Removes all that there is of an ended job but its history, and notes what (removal.h).
	 * ERR_NOT_FOUND: there is nothing; ERR_USAGE: it lives, or a job that lives uses it. */
	int (*remove)(const char *id, struct removal *removal, struct err *err);
	/* Adds the ids of this user's jobs of which there is something to remove, and that had
	 * ended at `until_ms`. */
	int (*ended)(int64_t until_ms, struct str_list *ids, struct err *err);
	/* With staged: removes what stage() has sent and no job has used for `max_age_ms`, a day at
	 * least, and adds its bytes. ERR_USAGE: nothing, since a job is being submitted. */
	int (*age_cache)(int64_t max_age_ms, struct removal *removal, struct err *err);
};

/* Fills `summary` by what a job's directory tells; the caller frees it, job_summary_finish(). */
void scheduler_summarize(const struct scheduler_traits *engine, const struct job *job,
			 const struct job_view *view, struct job_summary *summary);

/* Is `word` a beginning of the id by which it may be named? It has a digit at least: "tony-" begins
 * all ids of an engine, and names none. */
bool scheduler_id_begins(const char *id, const char *word);

/* Sets `err` (ERR_USAGE): what a user calls `id` may be any of these jobs. Returns -1. */
int scheduler_err_several(const char *id, const struct str_list *ids, struct err *err);

/* find(), list(), remove() and ended() of any engine. */
int scheduler_find_job(const struct scheduler_client_ops *ops, const char *id,
		       struct job_door *door, char **full_id, struct err *err);
int scheduler_list_jobs(const struct scheduler_client_ops *ops, const char *user,
			int64_t ended_since_ms, struct job_summary **jobs, size_t *count,
			struct err *err);
int scheduler_remove_job(const struct scheduler_client_ops *ops, const char *id,
			 struct removal *removal, struct err *err);
int scheduler_list_ended(const struct scheduler_client_ops *ops, int64_t until_ms,
			 struct str_list *ids, struct err *err);

/* Once, before the others: this process is a client, whose user may have a Kerberos ticket. */
void scheduler_client_begin(void);
/* A job has the tokens of renew(), or may have them. */
void scheduler_client_leave_tokens(void);
/* Once, after all others: gives back what was got by the ticket and left to no job. */
void scheduler_client_end(void);
/* In the order in which jobs are looked for; NULL behind the last. */
const struct scheduler_client_ops *scheduler_client_at(size_t index);
const struct scheduler_client_ops *scheduler_client_find(const char *name);
/* The one of which `id` can only be the whole id of a job; NULL: of none. `days`: as is_id() tells
 * them; NULL: nobody asks. */
const struct scheduler_client_ops *scheduler_client_of_id(const char *id,
							  struct history_days *days);
/* Whether ids of some engine's jobs begin so: any other text is a name. */
bool scheduler_client_begins_id(const char *text);

#endif
