/*
 * Keeps a file up to date that has the metrics so far as the history has them, so that they are not
 * lost with an AM that is killed. It is written a few tasks at a time, between other events, and is
 * whole at every moment.
 */
#ifndef TONY_AM_METRICS_FILE_H
#define TONY_AM_METRICS_FILE_H

#include "am/api.h"

struct metrics_file;

/* Writes `path` every `interval_ms`, and tells it. What is passed must outlive it. */
struct metrics_file *metrics_file_create(struct event_base *base, const struct api *api,
					 const char *path, int64_t interval_ms,
					 void (*written)(void *data, const char *path), void *data);
void metrics_file_destroy(struct metrics_file *file); /* NULL is fine */

#endif
