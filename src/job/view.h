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
#include "job/record.h"

enum { ATTEMPT_VIEWS_MAX = 1000 }; /* of one task; the oldest are forgotten */

/* One process of a task, or a container that never got to start one. */
struct attempt_view {
	int attempt;	    /* which container */
	int epoch, restart; /* which process in it; 0: none was ordered */
	char *container, *host, *log_dir;
	int port;
	int64_t allocated_ms, launched_ms; /* of the container, also of its later processes */
	int64_t registered_ms, started_ms, ended_ms;
	struct program_use use; /* what its process used, once it has ended */
	struct cause cause; /* why it ended; CAUSE_NONE: well, or because it was told to, or not */
};

struct task_view {
	size_t type;
	int index;
	enum task_state state;
	int attempt, epoch, restart, restarts_used;
	bool up;			  /* its process is confirmed to run */
	char *container, *host, *log_dir; /* NULL: not known */
	char *blamed;			  /* as in struct task */
	int port;
	int ui_port; /* where its process serves a web interface; 0: it does not (yet) */
	int door;    /* where its executor hears of an AM that follows; 0: it has none */
	int64_t state_since_ms;
	int64_t requested_ms;	      /* its first request */
	int64_t started_ms, ended_ms; /* of the last process */
	struct cause cause;	      /* of the last failure, even if it recovered since */
	bool is_well;		      /* it did */
	bool blames_peer, moved, rejoin, restarting; /* as in struct task */
	bool port_missed, port_open;		     /* likewise */
	int misses, ports_lost;			     /* as in struct task */
	int64_t pause_ms;			     /* its own back-off, from state_since_ms on */
	struct program_use use;	  /* of the last process that has ended and of which it is known */
	struct lost_output lost;  /* of the last container that lost some */
	char *checkpoint_trouble; /* why they cannot be stored; NULL: they can */
	int64_t checkpoint_trouble_since_ms;
	bool dormant; /* machine_task_is_dormant() */
	struct attempt_view *attempts;
	size_t attempt_count;
	int held_attempt;      /* its last container; 0: none yet */
	int64_t held_until_ms; /* up to then type_view.container_ms has that container's time */
};

struct type_view {
	size_t running;	  /* tasks */
	int64_t begun_ms; /* when tasks of it began to run, after none did */
	bool exempt;	  /* an ignored group timeout made it untracked */
	int wanted;	  /* machine_wanted() */
	/* For how long its tasks held containers, all added up: from each allocation to the end of
	 * the task or of its container, by the clock of the AM. */
	int64_t container_ms;
};

struct job_view {
	const struct job *job; /* borrowed */
	enum job_state state;
	enum job_state outcome; /* valid from JOB_FINISHING on */
	int epoch, retries, infrastructure_retries;
	int preemptions; /* as in struct machine_status, and so is the next */
	int streak;
	int64_t paused_at_ms, pause_ms; /* the last back-off: from when, how long; 0: none */
	int am_attempt;
	int64_t am_pid;
	char *am_address;
	int64_t begun_ms;     /* the first record */
	int64_t forming_ms;   /* first in state forming */
	int64_t formation_ms; /* when the last formation began, or was given more time */
	int64_t running_ms;   /* first in state running */
	int64_t ended_ms;     /* final */
	int64_t state_since_ms;
	int64_t sequence; /* of the last record folded in */
	struct cause cause;
	int64_t cause_task;  /* -1: the job's own, or none */
	int cause_epoch;     /* before `epoch`: what the job re-forms for */
	char *waiting;	     /* NULL: nothing is waited for */
	bool released;	     /* by its user, if it was held */
	char *tracking_run;  /* at a tracking server; NULL: none is known */
	char *tracking_page; /* where people see it */
	struct str_list met; /* jobs that it need not wait for any more */
	char *note;	     /* the newest; NULL: none */
	char *store_trouble; /* why what is kept of the job cannot be written; NULL: it can */
	int64_t store_trouble_since_ms;
	char *message;		 /* the final one; NULL: none yet */
	struct str_list avoided; /* machines to blame, the first one first */
	bool is_final;		 /* the final record is there */
	bool notices_due;	 /* of the job's end; no AM has told what became of them */
	json_t *notices;	 /* as in record_notices(); NULL: none yet */
	char *history_trouble;	 /* why no history of the job was published; NULL: nothing */
	struct type_view *types; /* as many as the job has */
	struct task_view *tasks;
	size_t task_count;
	size_t tasks_in[TASK_STATE_COUNT]; /* without the dormant ones */
};

struct job_view *job_view_create(const struct job *job);
void job_view_destroy(struct job_view *view); /* NULL is fine */

/* Of a job whose last line is not there: how it ended, as somebody else knows. */
void job_view_end(struct job_view *view, enum job_state state, const char *message,
		  int64_t ended_ms);

/* Folds one line in. Kinds of records that this version does not know are passed over; a flawed
 * one is an error and leaves the view as it was, or partly changed. Lines that were folded in
 * before are passed over, so that overlapping reads do no harm. */
int job_view_add(struct job_view *view, const struct journal_line *line, struct err *err);

/* Folds in what a journal holds beyond what was folded in already. */
int job_view_read(struct job_view *view, const char *path, struct err *err);

/* How many tasks the job wants, or wanted at its end: its number of tasks wherever tony tells one.
 */
int64_t job_view_wanted(const struct job_view *view);

/* As GET /v1/job and GET /v1/tasks/{task} show it (docs/rest.md). */
json_t *job_view_to_json(const struct job_view *view);
json_t *task_view_to_json(const struct job_view *view, size_t task);
/* As GET /v1/tasks/{task}/attempts. */
json_t *task_view_attempts_to_json(const struct task_view *task);

/* "http://127.0.0.1:6006", the task's web interface; NULL: it has none (yet). The caller frees. */
char *task_view_ui_url(const struct task_view *task);

#endif
