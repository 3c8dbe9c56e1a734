/* The AM's own data; am_main.c sets it up, am_act.c turns the machine's actions into effects,
 * am_guard.c sees to it that there is an AM. */
#ifndef TONY_AM_AM_INTERNAL_H
#define TONY_AM_AM_INTERNAL_H

#include <event2/event.h>
#include <jansson.h>

#include "am/api.h"
#include "am/gate.h"
#include "am/metrics_file.h"
#include "am/parent_watch.h"
#include "am/summon.h"
#include "am/tracking.h"
#include "base/guard.h"
#include "job/journal.h"
#include "job/machine.h"
#include "job/view.h"
#include "scheduler/scheduler.h"

struct am {
	struct scheduler_place place;
	/* Of the place: */
	const char *job_dir;
	const struct job *job;
	struct machine *machine;
	struct journal *journal;
	struct event_base *base;
	struct event *timer;
	struct event *sync_timer; /* pending: the journal has lines that may not be on the disk */
	struct event *signals[3];
	struct event *guardian_gone;
	struct event *broken; /* am_break() was called */
	const struct scheduler_ops *scheduler_ops;
	struct scheduler *scheduler;
	struct api *api;
	struct metrics_file *metrics_file; /* NULL: none is needed */
	struct gate *gate;		   /* NULL: the job began at once, or long ago */
	struct parent_watch *parent;	   /* NULL: the job ends with no other one */
	struct summons *summons;	   /* NULL: nobody is to be told where this AM is */
	struct tracking *tracking;	   /* NULL: no server tracks the job */
	struct event *track_timer;	   /* likewise */
	char *job_page;			   /* where people see the job; NULL: likewise */
	bool is_flushed;		   /* the server has all numbers, or does not take them */
	struct guard guard;
	int ready_fd; /* an eventfd for the first AM that can be asked; 0: none */
	/* What outlives a killed AM, so that the next one goes on at the same address: */
	int listener;	    /* 0: none, as every AM has an address of its own */
	int pages_listener; /* of a job with TLS; 0: none, likewise */
	struct scheduler_hold hold;
	char *ring_file;		/* api_options.ring_file */
	char *diff_path;		/* source.diff, which may not be there */
	struct str_list suspects;	/* machines that earlier AMs of the job avoided */
	int short_lives;		/* AMs in a row that were killed soon after they began */
	int64_t store_trouble_since_ms; /* wall-clock; 0: none is told */
	char *waiting;			/* what open asks wait for; NULL: nothing */
	struct action_list actions;
	char *failure;	   /* why the AM itself cannot go on; NULL: it can */
	int64_t ended_ms;  /* when its last state was written down, by this AM or one before; 0: not
			      yet */
	bool has_ended;	   /* the last line is written: it is only repeated from then on */
	bool has_notified; /* an AM before this one told the notices of the job's end */
	char *dismissal;   /* why the scheduler wants nothing of this AM any more; NULL: it does */
	int signal;	   /* that told it to leave a job that another AM may go on with; 0: none */
	bool feeding;	   /* an event is in hand */
};

/* ---- am_place.c ---- */

#define KV_FILE		 "store.kv"
#define RENDEZVOUS_FILE	 "rendezvous.kv"
#define SPLIT_LIST_FILE	 "splits.list"
#define SPLIT_STATE_FILE "splits.state"

/* The job, its scheduler, and what that one left here for the AM. */
int am_find_all(struct am *am, const char *job_dir, struct err *err);

/* The space for the journal's last lines, so that they can be written. */
void am_give_up_reserve(const char *job_dir);
/* Nobody on this machine is to find this AM there any more. `is_last`: nor will another follow. */
void am_withdraw(const char *job_dir, bool is_last);

/* ---- am_hold.c ---- */

/* Opens what outlives an AM, or takes it from the process that this one was. */
int am_open_hold(struct am *am, struct err *err);
/* Whose guardian was killed. Returns only when it cannot. */
void am_become_guardian(const struct am *am);

/* ---- am_run.c ---- */

/* The AM itself, in the worker. Returns its exit code. */
int am_run(struct am *am);

/* ---- am_track.c ---- */

/* Goes on with the run of AMs before this one, if there is one. */
void am_track_open(struct am *am, const struct job_view *view);
/* Calls `then`, unless it is NULL, once the job may begin: there is a run, or for now there will be
 * none. */
void am_track_begin(struct am *am, void (*then)(void *am));
/* Sends the last numbers. */
void am_track_end(struct am *am);

/* ---- am_end.c ---- */

/* Containers are gone. Who asks is answered until the end is told elsewhere. */
enum job_state am_end(struct am *am);

/* The last line of a job's journal, which is only repeated from then on. Takes `final`. */
void am_record_end(struct journal *journal, json_t *final, bool notices_due);

/* ---- am_notify.c ---- */

/* Tells the notices of the job's end, unless an AM before did, and writes down what became of them.
 * Others are served meanwhile. */
void am_notify(struct am *am);
/* The same for the guardian of an AM that could not. */
void am_notify_alone(const struct am *am);

/* ---- am_guard.c ---- */

/* Runs the AM below a guardian, and another one when it is killed. Returns an exit code. `job_dir`:
 * NULL: the scheduler of this container says it. */
int am_run_guarded(struct am *am, const char *job_dir);

/* ---- am_act.c ---- */

/* Runs the loop, also where events of the end leave it. */
void am_run_until(struct am *am, const bool *done);

/* Feeds the machine and carries out what it says. False: the event was stale. */
bool am_feed(struct am *am, const struct machine_event *event);

/* Carries out what a machine that was restored wants. */
void am_resume(struct am *am);

/* The job is in its final state: the event loop is left. */
bool am_is_over(const struct am *am);

/* The AM itself cannot go on (full disk ...): the job fails with `text`, after what is in hand: a
 * message of an executor is told as a whole. */
void am_break(struct am *am, const char *text);
/* For the event loop: ends the job then. */
void am_on_broken(evutil_socket_t fd, short what, void *data);

/* Appends to the journal and tells those who follow it. `record` is taken. With `sync` it is on the
 * disk then, else shortly: lines that come together share one sync. A record that finds no room
 * breaks the AM, and is written at the end of the job. */
void am_record(struct am *am, json_t *record, bool sync);

/* For the interface: so much of a task's output is lost. */
void am_on_output_lost(void *data, size_t task, const struct lost_output *lost);

/* Likewise: a launcher inside of a task has started something again. */
void am_on_restarted_inside(void *data, size_t task, int64_t count, const char *text);

/* Likewise: numbers from that one on are new. */
void am_on_numbers(void *data, size_t task, const struct number_list *numbers, size_t first);
/* Likewise: its checkpoints cannot be stored; NULL: they can again. */
void am_on_used(void *data, size_t task, const struct program_use *use);
void am_on_checkpoint_trouble(void *data, size_t task, const char *text, int64_t since_ms);

/* For the scheduler: scheduler_listener.store_trouble. */
void am_on_store_trouble(void *data, const char *text);

/* A person should know this of the job as a whole. */
void am_note(struct am *am, const char *text);

/* For the event loop: syncs the journal. */
void am_on_sync_timer(evutil_socket_t fd, short what, void *data);

/* ---- am_history.c ---- */

/* A file that an AM which follows reads has changed. */
void am_on_file_written(void *am, const char *path);

/* Goes on with the metrics of an AM before this one. From now on what would be kept of them is on
 * the disk, about every minute. */
void am_history_begin(struct am *am);

/* Packs all that is to be kept of the job, which has ended. The directory, which the caller frees;
 * NULL: it could not be done, and was noted. */
char *am_history_pack(struct am *am);

#endif
