/*
 * A copy of the event files of another user's directory (event_files.h), which is made by child
 * processes, again and again. It is in a directory of its own, which is removed when it is stopped,
 * and when the process that has started it ends, however it does.
 */
#ifndef TONY_PORTAL_EVENT_COPY_H
#define TONY_PORTAL_EVENT_COPY_H

#include "base/err.h"

enum { EVENT_COPY_AGAIN_MS = 15000 }; /* from the end of one look to the next */

struct event_base;
struct event_copy;

/* Told from the loop: all is there as it was when it was looked at (`err` NULL); or it cannot be,
 * for good, and the caller stops it. */
typedef void event_copy_changed(void *data, const struct err *err);

/* `place`: as for job_stores_open_place(). */
struct event_copy *event_copy_start(struct event_base *base, const char *place, const char *owner,
				    event_copy_changed *changed, void *data, struct err *err);
/* The directory is gone then. NULL is fine; also from within `changed`. */
void event_copy_stop(struct event_copy *copy);

const char *event_copy_directory(const struct event_copy *copy);
/* What is not in it, in words; NULL: nothing. */
const char *event_copy_left_out(const struct event_copy *copy);

#endif
