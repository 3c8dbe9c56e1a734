/*
 * What a reader knows of a job from its journal: the records folded into one picture. The AM keeps
 * one for its REST answers, `tony status`, `list`, `history` and the live table make one from the
 * file. Times are wall-clock ms; 0: not yet.
 */
#ifndef TONY_JOB_VIEW_H
#define TONY_JOB_VIEW_H

#include <jansson.h>

#include "job/journal.h"
#include "job/machine.h"

struct task_view {
	size_t type;
	int index;
	enum task_state state;
	int attempt, epoch, restart, restarts_used;
	bool up;			  /* its process is confirmed to run */
	char *container, *host, *log_dir; /* NULL: not known */
	int port;
	int ui_port; /* where its process serves a web interface; 0: it does not (yet) */
	int64_t state_since_ms;
	int64_t requested_ms;	      /* its first request */
	int64_t started_ms, ended_ms; /* of the last process */
	struct cause cause;	      /* of the last failure, even if it recovered since */
};

struct job_view {
	const struct job *job; /* borrowed */
	enum job_state state;
	enum job_state outcome; /* valid from JOB_FINISHING on */
	int epoch, retries, infrastructure_retries;
	int am_attempt;
	int64_t am_pid;
	char *am_address;
	int64_t begun_ms;   /* the first record */
	int64_t running_ms; /* first in state running */
	int64_t ended_ms;   /* final */
	int64_t state_since_ms;
	int64_t sequence; /* of the last record folded in */
	struct cause cause;
	int64_t cause_task; /* -1: the job's own, or none */
	char *waiting;	    /* NULL: nothing is waited for */
	char *note;	    /* the newest; NULL: none */
	char *message;	    /* the final one; NULL: none yet */
	bool is_final;	    /* the final record is there */
	struct task_view *tasks;
	size_t task_count;
	size_t tasks_in[TASK_STATE_COUNT];
};

struct job_view *job_view_create(const struct job *job);
void job_view_destroy(struct job_view *view); /* NULL is fine */

/* Folds one line in. Kinds of records that this version does not know are passed over; a flawed
 * one is an error and leaves the view as it was, or partly changed. Lines that were folded in
 * before are passed over, so that overlapping reads do no harm. */
int job_view_add(struct job_view *view, const struct journal_line *line, struct err *err);

/* Folds in what a journal holds beyond what was folded in already. */
int job_view_read(struct job_view *view, const char *path, struct err *err);

/* As GET /v1/job and GET /v1/tasks/{task} show it (docs/rest.md). */
json_t *job_view_to_json(const struct job_view *view);
json_t *task_view_to_json(const struct job_view *view, size_t task);

/* "http://127.0.0.1:6006", the task's web interface; NULL: it has none (yet). The caller frees. */
char *task_view_ui_url(const struct task_view *task);

#endif
