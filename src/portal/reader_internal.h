/* What the files of a reader share. */
#ifndef TONY_PORTAL_READER_INTERNAL_H
#define TONY_PORTAL_READER_INTERNAL_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "job/view.h"
#include "net/http_server.h"
#include "portal/reader.h"
#include "scheduler/job_stores.h"

struct event_copy;
struct tensorboard;

struct reader {
	const struct reader_setup *setup;
	struct event_base *base;
	struct http_server *server;
	char *id;
	size_t passed; /* requests on their way to another program */

	char *user, *view_acl; /* by which the portal lets people look; NULL: not said */

	/* Of a job in a store. */
	char *location, *path;
	struct history_record record; /* by which its files are read */
	bool is_open;
	struct job_stores stores;
	struct history_store *store;
	struct job *job;
	struct job_view *view;
	int journal;		   /* -1: none */
	struct event_copy *events; /* which TensorBoard reads; NULL: none is needed */
	struct tensorboard *tensorboard;
	char *tensorboard_problem;	 /* why there is none; NULL: nobody has asked, or nothing */
	struct collected_log *collected; /* the one that was read last; NULL: none */

	/* Of one that goes on. */
	const struct scheduler_client_ops *ops; /* its scheduler's */
	struct job_door door;
	int64_t found_ms; /* monotonic; 0: never */
	char *away;	  /* what to say of its AM, which is not there; NULL: nothing */
};

/* Folds the job's journal, once. False: it cannot be, and that is answered. */
bool reader_open(struct reader *reader, struct http_request *request);
/* What is in the journal that is open becomes the view. */
int reader_fold(struct reader *reader, struct err *err);
void reader_close(struct reader *reader);
/* The number of the task in the path, or -1: then 404 is answered. */
int64_t reader_find_task(const struct reader *reader, struct http_request *request);
/* What went wrong, as its kind of answer. */
void reader_answer_failure(struct http_request *request, const struct err *err);

/* What was measured, a line for each attempt of a task. NULL: nothing, or that it cannot be read is
 * answered and *answered set. */
FILE *reader_open_metrics(struct reader *reader, struct http_request *request, bool *answered);
/* The next line that is a task's; `task` NULL: whichever. *line is getline()'s. */
json_t *reader_next_metrics(FILE *file, const char *task, char **line, size_t *size);

/* The user that owns the job's entry in the history, who is the one by whom people are let in: what
 * is this user's may be read for them with the portal's rights. The caller frees. NULL: `err`;
 * ERR_DENIED: it may be somebody else's. */
char *reader_find_owner(struct reader *reader, struct err *err);

/* Handlers, by file; `data` is the reader. Those of a job in a store: */
void reader_handle_job(void *data, struct http_request *request);
void reader_handle_tasks(void *data, struct http_request *request);
void reader_handle_task(void *data, struct http_request *request);
void reader_handle_attempts(void *data, struct http_request *request);
void reader_handle_config(void *data, struct http_request *request);
void reader_handle_diff(void *data, struct http_request *request);
void reader_handle_sweep(void *data, struct http_request *request);
void reader_handle_cluster(void *data, struct http_request *request);
void reader_handle_environment(void *data, struct http_request *request);
void reader_handle_events(void *data, struct http_request *request);
void reader_handle_log_names(void *data, struct http_request *request);
void reader_handle_log(void *data, struct http_request *request);
void reader_handle_series(void *data, struct http_request *request);
void reader_handle_advice(void *data, struct http_request *request);
void reader_handle_tensorboard(void *data, struct http_request *request);
void reader_handle_tensorboard_start(void *data, struct http_request *request);
void reader_handle_tensorboard_ui(void *data, struct http_request *request);

/* Ends what was started for it, and removes what was copied. */
void reader_stop_tensorboard(struct reader *reader);

/* Of one whose AM is not there: `answer` is one of those above, and answers out of what is on this
 * machine (reader_away.c). */
void reader_answer_away(struct reader *reader, struct http_request *request,
			void (*answer)(void *data, struct http_request *request));

#endif
