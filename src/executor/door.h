/*
 * Where an executor hears of an AM that follows the one it belongs to, on clusters where that one
 * has another address (protocol/am_call.h): a small HTTP server of its own.
 */
#ifndef TONY_EXECUTOR_DOOR_H
#define TONY_EXECUTOR_DOOR_H

#include <stdbool.h>

#include "base/err.h"
#include "protocol/am_call.h"

struct door;
struct event_base;

struct door_options {
	struct event_base *base;
	struct am_call_to self; /* borrowed for the door's life */
	/* Told of an AM of this job. False: it is no newer than the one that is known. */
	bool (*called)(void *data, const struct am_call *call);
	void *data;
};

struct door *door_open(const struct door_options *options, struct err *err);
void door_close(struct door *door); /* NULL is fine */
int door_port(const struct door *door);

#endif
