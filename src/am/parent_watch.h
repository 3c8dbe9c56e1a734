/* A job that a task of another one submitted ends with that one, its parent, unless it is to
 * outlive it (tony.application.outlives-parent). */
#ifndef TONY_AM_PARENT_WATCH_H
#define TONY_AM_PARENT_WATCH_H

#include <event2/event.h>

#include "scheduler/scheduler.h"

struct parent_watch;

/* Told from the loop. Borrowed for the watch's life. */
struct parent_options {
	struct event_base *base;
	const struct job *job;
	const struct scheduler_ops *ops;
	struct scheduler *scheduler;
	void (*ended)(void *data, const char *text); /* once */
	void *data;
};

/* NULL: the job has no parent, or outlives it. */
struct parent_watch *parent_watch_create(const struct parent_options *options);
void parent_watch_destroy(struct parent_watch *watch); /* NULL is fine */

#endif
