/*
 * A job waits, before it asks for its first container, for other jobs (--after), a time (--begin),
 * its user (--hold), and its turn in an array. Each AM waits by itself: it looks at the
 * jobs that it waits for through its scheduler, about every second.
 */
#ifndef TONY_AM_GATE_H
#define TONY_AM_GATE_H

#include <event2/event.h>

#include "job/view.h"
#include "scheduler/scheduler.h"

struct gate;

/* Told from the loop. Borrowed for the gate's life. */
struct gate_options {
	struct event_base *base;
	const struct job *job;
	const struct scheduler_ops *ops;
	struct scheduler *scheduler;
	/* For what the job waits; never NULL. */
	void (*waiting)(void *data, const char *text);
	/* An AM that follows need not ask again: as record_start(). */
	void (*passed)(void *data, bool released, const struct str_list *met);
	void (*opened)(void *data);
	/* The job can never begin. */
	void (*canceled)(void *data, const char *text);
	void *data;
};

/* `view`: what the AMs before wrote down; not kept. NULL: the job may begin at once. */
struct gate *gate_create(const struct gate_options *options, const struct job_view *view);
void gate_destroy(struct gate *gate); /* NULL is fine */

/* The user says so. False: the job is not held. */
bool gate_release(struct gate *gate);

#endif
