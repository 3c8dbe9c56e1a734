/*
 * A connection to a server of tony's that has changed from HTTP to frames, both ways: what a shell
 * in a task is spoken over (docs/rest.md, "Commands in a task"). A frame is a byte that names its
 * kind, the length of its content in four bytes, the first the highest, and the content.
 */
#ifndef TONY_NET_CHANNEL_H
#define TONY_NET_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "net/http_client.h"

#define CHANNEL_PROTOCOL "tony-exec"

enum { CHANNEL_FRAME_MAX = 64 * 1024 }; /* bytes of its content */

struct channel;

struct channel_options {
	struct event_base *base;
	struct http_target target;
	const char *path;
	/* The server has changed to frames. */
	void (*opened)(void *data);
	/* `content` is NUL-terminated, and gone afterwards. The channel may be closed in it. */
	void (*heard)(void *data, unsigned char kind, const char *content, size_t length);
	/* There is room again. */
	void (*drained)(void *data);
	/* It is of no use any more. ERR_UNREACHABLE: no connection, or it ended; else what the
	 * server answered. */
	void (*ended)(void *data, const struct err *err);
	void *data;
};

/* Texts are copied. Calls nothing back from within. NULL: the target is no address. */
struct channel *channel_open(const struct channel_options *options, struct err *err);
void channel_close(struct channel *channel); /* NULL is fine */

struct evbuffer;

/* `length` is at most CHANNEL_FRAME_MAX. */
void channel_write_frame(struct evbuffer *output, unsigned char kind, const void *content,
			 size_t length);
void channel_say(struct channel *channel, unsigned char kind, const void *content, size_t length);
bool channel_has_room(const struct channel *channel);

#endif
