/* What the files of the REST interface share. */
#ifndef TONY_AM_API_INTERNAL_H
#define TONY_AM_API_INTERNAL_H

#include <event2/event.h>
#include <event2/event_struct.h>
#include <sys/queue.h>

#include "am/api.h"
#include "am/horovod/rendezvous.h"
#include "am/kept_kv.h"
#include "am/kv.h"
#include "am/log_relay.h"
#include "am/split_sets.h"
#include "am/usage.h"
#include "am/user_series.h"
#include "am/viewers.h"
#include "job/journal.h"
#include "job/view.h"
#include "protocol/report.h"
#include "web/audit.h"

struct evbuffer;
struct ui_door;

/* What the wire knows of a task. */
struct api_task {
	struct api *api;
	size_t number;
	struct http_request *held; /* its beat; NULL: none is held */
	int64_t ordered;	   /* line of the journal up to which its order is told there */
	struct event expiry;	   /* of the hold; assigned when `api` is */
	/* The last report. */
	struct program_identity of;
	enum activity activity;
	int *pids;
	size_t pid_count;
	int executor_pid; /* of executor_attempt; 0: not told */
	int executor_attempt;
	struct usage *usage;	     /* NULL: nothing was measured yet */
	struct user_series *numbers; /* NULL: its program told none yet */
	char *log_dir;		     /* NULL: not told */
	LIST_HEAD(, api_log_follower) log_followers;
	/* Logs that its executor is ordered to send; NULL: none. */
	struct log_relays *relays;
	int64_t tokens; /* number of those that it has, as its beat says */
	LIST_HEAD(, api_session) sessions;
	int64_t *logs_told; /* orders of it that the executor knows of */
	size_t logs_told_count;
	int64_t beat_at;	 /* monotonic, ms; 0: never */
	int beat_attempt;	 /* whose it was */
	int64_t lost_bytes;	 /* of output, as the journal tells it */
	int lost_attempt;	 /* of which container */
	int64_t restarts_inside; /* of `restarted`, as the journal tells them */
	struct program_identity restarted;
	const struct program_use *use; /* while its exit is told to the machine; NULL: not known */
	struct program_identity used_by; /* the last program that was stopped and told its use */
	int64_t trouble_since_ms;	 /* wall-clock, of its checkpoints; 0: there is none */
	bool has_storing;
	struct storing storing; /* as its executor told it last */
};

struct api_event_follower {
	LIST_ENTRY(api_event_follower) link;
	struct api *api;
	struct http_stream *stream;
	struct journal_reader *reader;
	bool follows, as_server_sent;
	bool is_viewer;	     /* a browser: asks again when the answer ends before the job */
	struct event *hold;  /* pending: waits for a first line. NULL: does not */
	struct event *pulse; /* of server-sent events: time to say that we are there. Else NULL */
	bool pulse_due;
};

struct api_log_follower; /* api_logs.c */
struct api_waiter;	 /* api_kept.c */
struct api_looker;	 /* api_view.c */

/* api_exec.c: a command of somebody's in a task, or connections to a port there. */
struct api_session {
	LIST_ENTRY(api_session) link;
	struct api_task *task;
	char *id;
	int64_t port;			       /* 0: a command */
	struct http_request *client, *process; /* NULL: gone, or not there yet */
	bool is_told;			       /* to the executor */
	struct event late;
};

/* api_view.c: the job as its journal tells it. */
struct api_view {
	struct job_view *job;
	struct journal_reader *reader;	  /* feeds `job`; NULL: not needed yet */
	struct event fold;		  /* pending: the journal may have more for `job` */
	TAILQ_HEAD(, api_looker) lookers; /* who wait for the view */
};

/* api_linger.c: browsers that come back for the journal's last line. */
struct api_linger {
	size_t expected;     /* are about to ask for the events */
	int64_t expected_at; /* monotonic, ms: when the last of them was seen */
	struct event over;   /* pending: for them */
	void (*done)(void *data);
	void *data;
};

/* api_tasks.c: when an executor was heard of, of any task; and after nobody was for long. */
struct api_beats {
	int64_t last_at, resumed_at; /* monotonic, ms */
};

/* api_work.c: which tasks are far behind their siblings. */
struct api_work {
	struct straggler *stragglers; /* of all tasks, as found last; NULL: nobody has asked */
	int64_t found_at;	      /* monotonic, ms */
};

/* api_advice.c */
struct api_advice {
	json_t *told;	 /* NULL: nobody has asked */
	int64_t told_at; /* monotonic, ms */
};

/* api_ui.c: the web interfaces of tasks. */
struct api_ui {
	size_t requests;      /* on their way to a task */
	struct ui_door *door; /* NULL: nobody has asked for one */
};

/* api_splits.c */
struct api_splits {
	struct split_sets *sets;
	TAILQ_HEAD(, api_split_waiter) waiters;
	char *trouble;	      /* why they are not kept for an AM that follows; NULL: they are */
	struct event changed; /* active: tasks have changed */
	struct event expiry;  /* pending: of leases that are not renewed */
	struct event keep;    /* pending: to tell the host of files that have changed */
};

/* The members above the blank line are set once, for all. Below it each has one owner. */
struct api {
	struct api_host host;
	struct event_base *base;
	struct http_server *server;
	struct http_server *pages; /* for browsers, of a job with TLS; NULL: they come there, too */
	struct http_server
		*proxied;	   /* for the scheduler's web proxy; NULL: it comes to the pages */
	struct http_route *routes; /* of all */
	char *name; /* of this machine, for others; NULL: the address that is listened at */
	char *address, *pages_address, *proxy_address; /* NULL: of no such server */
	struct api_task *tasks;
	size_t task_count;
	struct viewers *viewers;
	struct audit_refusals *refusals;
	struct user_budget numbers_budget;
	struct kept_kv *kv;
	struct map *kv_waiters;	       /* api_kv.c: who is answered when a key has another value */
	struct rendezvous *rendezvous; /* NULL: the job's framework asks for none */

	int64_t appended, kept; /* lines of the journal */
	int64_t store_trouble_since_ms;
	void (*drained)(void *data);
	void *drained_data;
	int draining;	/* servers that are not drained yet */
	bool concluded; /* the journal has its last line */
	struct new_tokens tokens;
	char *tracking_run;    /* NULL: the job has none (yet) */
	struct api_spec *spec; /* the cluster's; NULL: to be built anew */
	struct api_view view;
	struct api_linger linger;
	struct api_beats beats;
	struct api_work work;
	struct api_advice advice;
	struct api_ui ui;
	struct api_splits splits;
	LIST_HEAD(, api_event_follower) event_followers;
	LIST_HEAD(, api_waiter) waiters; /* who is answered when something is kept */
};

/* The task of the path, or NULL when there is none: then 404 is answered. */
struct api_task *api_find_task(struct api *api, struct http_request *request);

/* ---- api_tokens.c: tokens for other services */

/* Those that an executor has, of an AM before this one: they are for all. */
void api_tokens_inherit(struct api *api, const struct new_tokens *tokens);
void api_handle_tokens_look(void *data, struct http_request *request);
void api_handle_tokens(void *data, struct http_request *request);

/* ---- api_audit.c: audit lines (web/audit.h) */

/* The user who gives this order and is not simply who has the token: one who has proven his name,
 * or for whom a portal speaks. NULL: the owner, or a page that he opened. */
const char *api_orderer(const struct http_request *request);

/* Of a caller who has shown the token, or has proven to be a user who may do that. */
void api_audit(struct api *api, const struct http_request *request, const char *action,
	       const char *outcome, const char *detail);
char *api_audit_refusal(void *data, const struct http_request *request);

/* ---- api_view.c: the job as its journal tells it */

void api_view_init(struct api *api);
void api_view_finish(struct api_view *view);
/* Answers a GET once the view holds all that the journal says by now; 500 when it cannot be read.
 */
void api_view_look(struct api *api, struct http_request *request,
		   void (*answer)(struct api *api, struct http_request *request));
void api_view_fold(struct api *api); /* the journal may have more for it */

/* ---- api_spec.c: the cluster spec, made once and shared by all answers that hold it */

/* Answers `front`, the spec, `rear`, which together are JSON; compressed when that pays. */
void api_spec_answer(struct api *api, struct http_request *request, const char *front,
		     const char *rear);

/* ---- api_rows.c: answers with a row for each task, written a few at a time: long ones neither lie
 * in memory nor keep others waiting */

enum { API_PAGE_MAX = 10000 };

struct api_rows {
	size_t next, end;	  /* numbers of rows */
	const char *content_type; /* NULL: JSON */
	const char *separator, *rear;
	/* Appends the row; nothing: there is none of that number. */
	void (*append)(const struct api *api, const struct api_rows *rows, size_t number,
		       struct str *text);
	int what;	  /* for `append` */
	const char *name; /* likewise; copied; NULL: none */
};
/* `front`, the rows, and their `rear`. */
void api_rows_answer(const struct api *api, struct http_request *request, const char *front,
		     const struct api_rows *rows);
/* The tasks that `offset` and `limit` ask for. -1: answered with 400. */
int api_rows_page(const struct api *api, struct http_request *request, struct api_rows *rows);

/* 400 with what `err` says. */
void api_answer_bad(struct http_request *request, const struct err *err);
void api_answer_empty(struct http_request *request);
void api_answer_stale(struct http_request *request); /* 409: it is not of the present attempt */

/* ---- api_linger.c: browsers that come back for the journal's last line */

void api_linger_init(struct api *api);
void api_linger_finish(struct api_linger *linger);
/* One is about to ask for the events, for the first time or again. */
void api_expect_viewer(struct api *api);
void api_viewer_came(struct api *api); /* it has asked */

/* Answers 200 and `answer`, which is taken, once what was written in the journal so far is kept. */
void api_answer_when_kept(struct api *api, struct http_request *request, json_t *answer);
void api_answer_kept(struct api *api); /* more is */

/* Ends or wakes who follows logs: all of them, when the job ends; those of a task whose container
 * is another one now. */
void api_logs_wake(struct api *api);
/* Those of one task: what they wait for may be there. */
void api_logs_wake_task(struct api_task *task);
void api_logs_check(struct api_task *task);

/* Which of its containers is the present one. */
int api_task_attempt(const struct api_task *task);
/* Holds this beat until there is something to do, or its time is up. */
void api_task_hold(struct api_task *task, struct http_request *request);
/* The held beat is answered; with _settle if there is reason to. */
void api_task_answer(struct api_task *task);
void api_task_settle(struct api_task *task);
struct api_task *api_get_task(struct api *api, size_t number);

/* How long a beat is held that nothing happens to meanwhile. Each task has a place of its own in
 * the interval, so that beats come evenly however many tasks were told something together: a hold
 * that would end after that place is shorter, by so little that executors, who take less than half
 * an interval for a disagreement, do not mind; one that would end just before it is longer. */
/* The interval of the beats: longer in a job of many hundred tasks, whose AM would else do little
 * but answer them on a busy machine, and never more than a fifth of what counts as silence. */
int64_t api_beat_interval(const struct job *job, size_t task_count);
int64_t api_hold_time(int64_t now_ms, int64_t interval_ms, size_t task, size_t task_count);

/* Answers what is held whatever the order is. */
void api_tasks_answer_all(struct api *api);
/* More of the journal is kept than the lines up to `before`. */
void api_tasks_go_on(struct api *api, int64_t before);
void api_task_finish(struct api_task *task);

/* Takes what its executor has measured of this process. */
void api_task_measure(struct api_task *task, const struct program_identity *of,
		      struct metrics *metrics);
void api_task_measure_end(struct api_task *task, const struct program_identity *of,
			  const struct program_use *use);
/* Takes what its program tells of itself. */
void api_task_take_numbers(struct api_task *task, int attempt, const struct number_list *numbers);
/* Takes what a line of metrics.jsonl says of a task of which nothing is known yet. */
void api_task_restore_metrics(struct api_task *task, const json_t *line);
/* Appends the members "series" and "user" of GET /v1/series. */
void api_task_write_series(const struct api_task *task, size_t points, struct str *text);
/* A line of metrics.jsonl (docs/history.md), without its newline; of each series at most `points`.
 */
void api_append_metrics(const struct api *api, size_t number, size_t points, struct str *text);
char *api_task_name(const struct api *api, size_t number); /* the caller frees */

/* ---- api_splits.c: queues of splits */

/* With what AMs before have kept in these files; NULL: nothing is kept. */
void api_splits_open(struct api *api, const char *list_file, const char *state_file);
void api_splits_close(struct api *api);
void api_splits_check(struct api *api);	   /* tasks may have come or gone */
void api_splits_conclude(struct api *api); /* answers whoever waits */
json_t *api_splits_to_json(const struct api *api);

/* ---- api_session.c */
bool api_session_has_news(const struct api_task *task);
/* Commands that its executor was not told of, and is now: how many. Borrowed. */
size_t api_session_orders(const struct api_task *task, char **orders);

/* ---- api_use.c: what running tasks use now */

/* The measurements of a task's present process; NULL: there are none. */
const struct usage *api_present_usage(const struct api *api, size_t number);
/* As docs/rest.md has it; NULL: it does not run, or nothing is known. */
json_t *api_use_to_json(const struct api *api, size_t number);

/* ---- api_work.c: how far the job's programs are, and which tasks are far behind their siblings */

int64_t api_recent_ms(const struct api *api); /* over which it is looked at what they do */
double api_done(const struct api *api);	      /* 0 to 1; NAN: no program tells */
/* Makes api->work.stragglers what it is now, or was some seconds ago. */
void api_find_stragglers(struct api *api);
/* As docs/rest.md has it, out of api->work.stragglers; NULL: it is none. */
json_t *api_straggler_to_json(const struct api *api, size_t number);

/* [{"name": "tensorboard", "task": "worker:0", "path": "ui/tensorboard/"}]: what is served now. */
json_t *api_ui_links(const struct api *api);
/* Programs' pages and the dashboard have one origin (tony.application.ui-origin). */
bool api_ui_shares_origin(const struct api *api);
/* Where the door to that listens, for others. NULL: no task serves one, or the dashboard's origin
 * is good enough, or `err`. The caller frees. */
char *api_ui_address(struct api *api, struct err *err);

/* Handlers, by file; `data` is the api. */
void api_handle_register(void *data, struct http_request *request);
void api_handle_beat(void *data, struct http_request *request);
void api_handle_exit(void *data, struct http_request *request);

void api_handle_asset(void *data, struct http_request *request);
void api_handle_server(void *data, struct http_request *request);
void api_handle_links(void *data, struct http_request *request);
void api_handle_login(void *data, struct http_request *request);
void api_handle_advice(void *data, struct http_request *request);
void api_handle_description(void *data, struct http_request *request);
void api_handle_config(void *data, struct http_request *request);
void api_handle_diff(void *data, struct http_request *request);
void api_handle_cluster(void *data, struct http_request *request);
void api_handle_environment(void *data, struct http_request *request);
void api_handle_job(void *data, struct http_request *request);
void api_handle_tasks(void *data, struct http_request *request);
void api_handle_task(void *data, struct http_request *request);
void api_handle_attempts(void *data, struct http_request *request);
void api_handle_kill(void *data, struct http_request *request);
void api_handle_scale(void *data, struct http_request *request);
void api_handle_release(void *data, struct http_request *request);
void api_handle_restart(void *data, struct http_request *request);

void api_handle_exec(void *data, struct http_request *request);
void api_handle_port_forward(void *data, struct http_request *request);
void api_handle_exec_join(void *data, struct http_request *request);

void api_handle_events(void *data, struct http_request *request);
void api_handle_logs(void *data, struct http_request *request);
void api_handle_log_names(void *data, struct http_request *request);
void api_handle_log_piece(void *data, struct http_request *request);
void api_handle_metrics(void *data, struct http_request *request);
void api_handle_series(void *data, struct http_request *request);
void api_handle_use(void *data, struct http_request *request);
void api_handle_work(void *data, struct http_request *request);
void api_handle_sweep(void *data, struct http_request *request); /* its table of trials */
void api_handle_children(void *data, struct http_request *request);

void api_handle_ui(void *data, struct http_request *request);
void api_handle_ui_folder(void *data, struct http_request *request);

/* Answers those that wait for a value, with what there is. */
void api_kv_conclude(struct api *api);
void api_handle_splits(void *data, struct http_request *request);
void api_handle_splits_of(void *data, struct http_request *request);
void api_handle_splits_put(void *data, struct http_request *request);
void api_handle_splits_claim(void *data, struct http_request *request);
void api_handle_splits_lease(void *data, struct http_request *request);
void api_handle_splits_renew(void *data, struct http_request *request);
void api_handle_splits_done(void *data, struct http_request *request);
void api_handle_splits_state(void *data, struct http_request *request);
void api_handle_splits_restore(void *data, struct http_request *request);

void api_handle_kv_put(void *data, struct http_request *request);
void api_handle_kv_get(void *data, struct http_request *request);
void api_handle_kv_delete(void *data, struct http_request *request);

#endif
