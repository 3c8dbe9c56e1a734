/*
 * The job's run at a tracking server (tracking_server.h), and the job's numbers on their way there.
 * Nothing of the job depends on it: a server that does not answer is asked again and again, and
 * what it refuses is left out. Of either a note tells, once.
 *
 * The run is made for the job, and every AM goes on with it.
 */
#ifndef TONY_AM_TRACKING_H
#define TONY_AM_TRACKING_H

#include <event2/event.h>

#include "job/job.h"
#include "protocol/numbers.h"

struct tracking;

/* Told from the loop. Borrowed for the tracking's life. */
struct tracking_options {
	struct event_base *base;
	const struct job *job;
	const char *job_page; /* where people see the job; NULL: nowhere */
	const char *run;      /* that an AM before has made; NULL: none is known */
	bool is_first_am;     /* else one before may have made a run that is not known */
	/* There is a run, and that is its page. */
	void (*run_made)(void *data, const char *run, const char *page);
	void (*noted)(void *data, const char *text);
	void *data;
};

/* Asks nothing yet. NULL: the job's server cannot be asked. */
struct tracking *tracking_create(const struct tracking_options *options, struct err *err);
void tracking_destroy(struct tracking *tracking); /* NULL is fine */

/* Calls `done`, unless it is NULL, once there is a run, or once it is known that there is none for
 * now; after `limit_ms` at the latest. It may do so at once. */
void tracking_begin(struct tracking *tracking, int64_t limit_ms, void (*done)(void *data));
/* Likewise, once all numbers are there. */
void tracking_flush(struct tracking *tracking, int64_t limit_ms, void (*done)(void *data));

/* NULL: there is none, as far as it is known. */
const char *tracking_run(const struct tracking *tracking);

/* Numbers from that one on; those that are not known are left out. `task`: "worker-1", whose they
 * are; NULL: they are the job's. */
void tracking_add(struct tracking *tracking, const char *task, const struct number_list *numbers,
		  size_t first);

#endif
