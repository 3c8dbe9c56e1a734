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

#include "base/err.h"

struct evbuffer;
struct tls;

struct wire {
	int fd;
	struct tls *tls; /* owned; NULL: the bytes travel as they are */
	struct evbuffer *input, *output;
	size_t input_cap; /* reading pauses while so much lies in `input` */
	struct event read_event, write_event;
	int error;			       /* of the socket; 0: none */
	struct err flaw;		       /* of TLS: on_end() is told EPROTO */
	void (*on_input)(void *data);	       /* bytes came */
	void (*on_output)(void *data);	       /* bytes left; `output` may be empty now */
	void (*on_end)(void *data, int error); /* 0: the peer ends its side; else errno: it broke */
	void *data;
};

/* Takes `fd`, which is made non-blocking. `tls` and the callbacks are set by the caller before. */
void wire_init(struct wire *wire, struct event_base *base, int fd);
void wire_finish(struct wire *wire);

/* Sends what the socket takes now, and the rest as it does. Calls nothing back. */
void wire_flush(struct wire *wire);

/* Nothing more will be sent, which the peer is told. Not while wire_is_sending(). */
void wire_end_output(struct wire *wire);

/* Not all of what was put into `output` has gone. */
bool wire_is_sending(const struct wire *wire);

/* Sets `err` to what on_end() was told, in words: ERR_UNREACHABLE, or as tls_take() says. */
void wire_err(const struct wire *wire, int error, struct err *err);

/* To be called after bytes were taken from `input`, which may have paused the reading. */
void wire_resume(struct wire *wire);
/* After the caller has stopped `read_event`, by event_del(). */
void wire_read_on(struct wire *wire);

/* No more of on_input and on_end. */
void wire_stop_reading(struct wire *wire);

#endif
