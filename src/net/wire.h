/*
 * A connected socket with its two buffers on the event loop: a bufferevent without its traps.
 * Sending never raises SIGPIPE, reading goes on while nobody wants the bytes yet (so that the
 * peer's end is noticed at once), and a callback may free the wire.
 */
#ifndef TONY_NET_WIRE_H
#define TONY_NET_WIRE_H

#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdbool.h>
#include <stddef.h>

struct evbuffer;

struct wire {
	int fd;
	struct evbuffer *input, *output;
	size_t input_cap; /* reading pauses while so much lies in `input` */
	struct event read_event, write_event;
	int error;		       /* of wire_flush(), to be told from the loop; 0: none */
	void (*on_input)(void *data);  /* bytes came */
	void (*on_output)(void *data); /* bytes left; `output` may be empty now */
	void (*on_end)(void *data, int error); /* 0: the peer ends its side; else errno: it broke */
	void *data;
};

/* Takes `fd`, which is made non-blocking. The callbacks are set by the caller before. */
void wire_init(struct wire *wire, struct event_base *base, int fd);
void wire_finish(struct wire *wire);

/* Sends what the socket takes now, and the rest as it does. Calls nothing back. */
void wire_flush(struct wire *wire);

/* To be called after bytes were taken from `input`, which may have paused the reading. */
void wire_resume(struct wire *wire);

/* No more of on_input and on_end. */
void wire_stop_reading(struct wire *wire);

#endif
