/*
 * The readers (reader.h) that are open now: a few, started when somebody looks at a job, ended when
 * nobody has for a while, or when others are wanted more.
 */
#ifndef TONY_PORTAL_READERS_H
#define TONY_PORTAL_READERS_H

#include "portal/index.h"
#include "portal/reader.h"

struct event_base;
struct http_request;
struct readers;
struct ui_door;

enum {
	READERS_MAX = 12, /* a comparison has COMPARISON_MOST at once */
	READERS_IDLE_MS = 15 * 60 * 1000,
};

/* `setup` outlives them. */
struct readers *readers_create(struct event_base *base, const struct reader_setup *setup);
void readers_destroy(struct readers *readers); /* ends them; NULL is fine */

/* All of them: what they are asked for breaks off. */
void readers_end(struct readers *readers);

size_t readers_count(const struct readers *readers);

/* Where the job's reader answers; NULL: `err`. */
const char *readers_find(struct readers *readers, const char *id, const struct portal_job *job,
			 struct err *err);

/* A request that is more than a look: as in ui_place. */
struct readers_order {
	const char *orderer;
	void (*answered)(void *data, int status);
	void *data;
};

/* Passes the request of a raw route on to the job's reader, with `base` before its path in place of
 * `prefix`. */
void readers_pass(struct readers *readers, struct http_request *request, const char *id,
		  const struct portal_job *job, const char *prefix, const char *base,
		  struct readers_order order);

/* The door to what the job's program serves: that of its reader, with which it is closed. `beside`:
 * where the portal listens. NULL: `err`. */
struct ui_door *readers_open_door(struct readers *readers, const char *id,
				  const struct portal_job *job, const char *beside,
				  struct err *err);

#endif
