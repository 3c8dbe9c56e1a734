/* What the files of the REST interface share. */
#ifndef TONY_AM_API_INTERNAL_H
#define TONY_AM_API_INTERNAL_H

#include <event2/event.h>
#include <event2/event_struct.h>
#include <sys/queue.h>

#include "am/api.h"
#include "am/gloo.h"
#include "am/kv.h"
#include "am/log_relay.h"
#include "am/message.h"
#include "job/journal.h"
#include "job/view.h"

struct evbuffer;

/* The last metrics of a task, and what they came to so far. */
struct api_metrics {
	struct message_metrics last;
	int64_t max_rss_bytes, max_pss_bytes;
	double rss_sum;
	int64_t samples;
};

/* What the wire knows of a task. */
struct api_task {
	struct api *api;
	size_t number;
	struct http_request *held; /* its beat; NULL: none is held */
	struct event expiry;	   /* of the hold; assigned when `api` is */
	/* The last report. */
	struct message_identity of;
	enum message_state state;
	json_t *pids;	  /* NULL: not told */
	int executor_pid; /* of executor_attempt; 0: not told */
	int executor_attempt;
	struct api_metrics *metrics; /* NULL: none yet */
	char *log_dir;		     /* NULL: not told */
	/* Logs that its executor is ordered to send; NULL: none. */
	struct log_relays *relays;
	int64_t logs_told[MESSAGE_LOGS_MAX]; /* orders of it that the executor knows of */
	size_t logs_told_count;
	int64_t beat_at; /* monotonic, ms; 0: never */
};

struct api_event_follower {
	LIST_ENTRY(api_event_follower) link;
	struct api *api;
	struct http_stream *stream;
	struct journal_reader *reader;
	bool follows, as_server_sent;
};

struct api_log_follower; /* api_logs.c */

struct api {
	struct api_host host;
	struct event_base *base;
	struct http_server *server;
	char *name; /* of this machine, for others; NULL: the address that is listened at */
	char *address;
	struct api_task *tasks;
	size_t task_count;
	struct evbuffer *cluster; /* serialized; NULL: to be built anew */
	struct job_view *view;
	struct journal_reader *reader; /* feeds `view`; NULL: not needed yet */
	struct kv *kv;
	struct gloo *gloo; /* NULL: none is needed, or no ring has formed yet */
	char *ring;	   /* which it serves; NULL: none */
	LIST_HEAD(, api_event_follower) event_followers;
	LIST_HEAD(, api_log_follower) log_followers;
	bool draining;
};

/* The task of the path, or NULL when there is none: then 404 is answered. */
struct api_task *api_find_task(struct api *api, struct http_request *request);

/* "0.0.0.0:4000" as others know it: "node-7:4000". The caller frees. */
char *api_advertise(const struct api *api, const char *address);

/* The job at this moment, or NULL when the journal cannot be read: then 500 is answered. */
const struct job_view *api_view(struct api *api, struct http_request *request);

/* 400 with what `err` says. */
void api_answer_bad(struct http_request *request, const struct err *err);
void api_answer_empty(struct http_request *request);

/* Ends or wakes who follows logs: all of them, when the job ends; those of a task whose container
 * is another one now. */
void api_logs_wake(struct api *api);
void api_logs_check(struct api_task *task);

/* The held beat is answered if there is reason to. */
void api_task_settle(struct api_task *task);
struct api_task *api_get_task(struct api *api, size_t number);

/* Answers what is held whatever the order is. */
void api_tasks_answer_all(struct api *api);
void api_task_finish(struct api_task *task);

/* Tells where the rendezvous of the present ring is, if there is one. */
void api_rendezvous_tell(const struct api *api, struct cluster *cluster);
void api_rendezvous_close(struct api *api);

void api_metrics_add(struct api_task *task, struct message_metrics *metrics); /* takes them */
json_t *api_metrics_to_json(const struct api_metrics *metrics);
void api_metrics_free(struct api_metrics *metrics); /* NULL is fine */

/* Handlers, by file; `data` is the api. */
void api_handle_register(void *data, struct http_request *request);
void api_handle_beat(void *data, struct http_request *request);
void api_handle_exit(void *data, struct http_request *request);

void api_handle_page(void *data, struct http_request *request);
void api_handle_job(void *data, struct http_request *request);
void api_handle_tasks(void *data, struct http_request *request);
void api_handle_task(void *data, struct http_request *request);
void api_handle_kill(void *data, struct http_request *request);
void api_handle_restart(void *data, struct http_request *request);

void api_handle_events(void *data, struct http_request *request);
void api_handle_logs(void *data, struct http_request *request);
void api_handle_log_piece(void *data, struct http_request *request);
void api_handle_metrics(void *data, struct http_request *request);

void api_handle_kv_put(void *data, struct http_request *request);
void api_handle_kv_get(void *data, struct http_request *request);
void api_handle_kv_delete(void *data, struct http_request *request);

#endif
