/*
 * Tells the executors that an earlier AM has left where this one is (protocol/am_call.h): each at
 * its door, again and again until it has registered here, its container has ended, or it has given
 * up waiting by itself.
 */
#ifndef TONY_AM_SUMMON_H
#define TONY_AM_SUMMON_H

#include "job/machine.h"
#include "protocol/am_call.h"

enum { SUMMONS_AT_ONCE = 256 }; /* on the wire; the others wait for their turn */

struct event_base;
struct summons;

struct summons_options {
	struct event_base *base;
	const struct job *job;
	const struct machine *machine; /* restored: who has a container and a door is told */
	const char *token;
	struct am_call call; /* this AM */
	int64_t answer_ms;   /* how long each may take to answer; 0: 5 s */
};

/* What is pointed to must outlive it. */
struct summons *summons_create(const struct summons_options *options);
void summons_destroy(struct summons *summons); /* NULL is fine */

#endif
