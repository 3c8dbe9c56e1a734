/* The AM's own data; am_main.c sets it up, am_act.c turns the machine's actions into effects. */
#ifndef TONY_AM_AM_INTERNAL_H
#define TONY_AM_AM_INTERNAL_H

#include <event2/event.h>
#include <jansson.h>

#include "am/api.h"
#include "base/guard.h"
#include "job/journal.h"
#include "job/machine.h"
#include "scheduler/scheduler.h"

struct am {
	const char *job_dir;
	struct scheduler_place place;
	struct job *job;
	struct machine *machine;
	struct journal *journal;
	struct event_base *base;
	struct event *timer;
	struct event *sync_timer; /* pending: the journal has lines that may not be on the disk */
	struct event *signals[3];
	struct event *guardian_gone;
	const struct scheduler_ops *scheduler_ops;
	struct scheduler *scheduler;
	struct api *api;
	struct guard guard;
	char *waiting; /* what open asks wait for; NULL: nothing */
	struct action_list actions;
	char *failure;	 /* why the AM itself cannot go on; NULL: it can */
	char *dismissal; /* why the scheduler wants nothing of this AM any more; NULL: it does */
	bool feeding;	 /* an event is in hand: failures are fed once it is done */
};

/* Feeds the machine and carries out what it says. False: the event was stale. */
bool am_feed(struct am *am, const struct machine_event *event);

/* The job is in its final state: the event loop is left. */
bool am_is_over(const struct am *am);

/* The AM itself cannot go on (full disk ...): the job fails with `text`. */
void am_break(struct am *am, const char *text);

/* Appends to the journal and tells those who follow it. `record` is taken. With `sync` it is on the
 * disk then, else shortly: lines that come together share one sync. */
void am_record(struct am *am, json_t *record, bool sync);

/* For the event loop: syncs the journal. */
void am_on_sync_timer(evutil_socket_t fd, short what, void *data);

#endif
