/*
 * Connections that a channel carries: those which one side accepts are made anew by the other, to
 * one port. Each has a number, the accepting side's. Either end of a connection may end its sending
 * alone, and a slow reader holds up no other connection.
 */
#ifndef TONY_NET_CARRIER_H
#define TONY_NET_CARRIER_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct channel;
struct event_base;
struct carrier;

/* The content of each begins with the connection's number: four bytes, the first the highest. */
enum carrier_frame {
	CARRIER_CONNECT = 'c', /* the accepting side's; the other's answer: it is connected ... */
	CARRIER_REFUSED = 'r', /* ... or not; text: why */
	CARRIER_BYTES = 'b',
	CARRIER_NO_MORE = 'm', /* of them */
	CARRIER_TAKEN = 'g',   /* a number: so many of the bytes were taken */
	CARRIER_BROKEN = 'z',  /* the connection is gone */
};

enum {
	CARRIER_WINDOW = 256 * 1024,   /* bytes of a connection that may be on the way */
	CARRIER_CONNECTIONS_MAX = 512, /* at a time */
};

struct carrier_options {
	struct event_base *base;
	/* Open, borrowed; what it hears and when it drains is told to the carrier. */
	struct channel *channel;
	/* Where this side connects to; 0: it accepts. Of 127.0.0.1, else of ::1. */
	int port;
	/* Of the accepting side: a connection was made, or `why` it was not. */
	void (*answered)(void *data, const char *why);
	void *data;
};

struct carrier *carrier_create(const struct carrier_options *options);
/* All its connections are broken off. */
void carrier_destroy(struct carrier *carrier); /* NULL is fine */

/* A connection was accepted. `fd` is taken. */
void carrier_accept(struct carrier *carrier, int fd);

/* Of its channel. */
void carrier_hear(struct carrier *carrier, unsigned char kind, const char *content, size_t length);
void carrier_drain(struct carrier *carrier);

/* Closes a connection such that its peer does not take what it has read for all there is. */
void carrier_break(int fd);

#endif
