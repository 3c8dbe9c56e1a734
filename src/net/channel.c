#include "net/channel.h"

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/timer.h"
#include "net/dial.h"
#include "net/http_message.h"
#include "net/tls.h"
#include "net/wire.h"

enum {
	DIAL_MS = 10 * 1000,
	ANSWER_MS = 30 * 1000, /* from the connection to the server's word */
	HEAD_CAP = 64 * 1024,
	ROOM = 256 * 1024, /* bytes that wait to leave */
	FRAME_HEAD = 5,
};

struct channel {
	struct channel_options options;
	char *question; /* the head; NULL: it was sent */
	struct dial *dial;
	struct tls_context *tls; /* NULL: without TLS */
	struct wire wire;
	bool is_connected, is_open;
	bool is_busy, is_closed; /* in go_on(), and closed meanwhile */
	struct event deadline;
};

static void destroy(struct channel *channel)
{
	if (channel->dial)
		dial_cancel(channel->dial);
	if (channel->is_connected)
		wire_finish(&channel->wire);
	event_del(&channel->deadline);
	tls_context_destroy(channel->tls);
	mem_free_secret(channel->question);
	free(channel);
}

void channel_close(struct channel *channel)
{
	if (channel && channel->is_busy)
		channel->is_closed = true;
	else if (channel)
		destroy(channel);
}

static void end(struct channel *channel, const struct err *err)
{
	if (channel->is_connected)
		wire_stop_reading(&channel->wire);
	event_del(&channel->deadline);
	channel->options.ended(channel->options.data, err);
}

/* ---- frames ------------------------------------------------------------------------------- */

void channel_write_frame(struct evbuffer *output, unsigned char kind, const void *content,
			 size_t length)
{
	unsigned char head[FRAME_HEAD] = {kind};
	uint32_t size = htonl((uint32_t)length);

	if (length > CHANNEL_FRAME_MAX)
		BUG("a frame of %zu bytes", length);
	memcpy(head + 1, &size, sizeof(size));
	evbuffer_add(output, head, sizeof(head));
	evbuffer_add(output, content, length);
}

void channel_say(struct channel *channel, unsigned char kind, const void *content, size_t length)
{
	channel_write_frame(channel->wire.output, kind, content, length);
	wire_flush(&channel->wire);
}

bool channel_has_room(const struct channel *channel)
{
	return channel->is_open && evbuffer_get_length(channel->wire.output) < ROOM;
}

/* False: no whole one has come. */
static bool take_frame(struct channel *channel)
{
	struct evbuffer *input = channel->wire.input;
	unsigned char head[FRAME_HEAD];
	char content[CHANNEL_FRAME_MAX + 1];
	uint32_t size;

	if (evbuffer_copyout(input, head, sizeof(head)) < (ssize_t)sizeof(head))
		return false;
	memcpy(&size, head + 1, sizeof(size));
	size = ntohl(size);
	if (size > CHANNEL_FRAME_MAX) {
		struct err err cleanup_err = {0};
		err_set(&err, ERR_INPUT, "a frame of %u bytes came", size);
		channel->is_open = false;
		end(channel, &err);
		return false;
	}
	if (evbuffer_get_length(input) < sizeof(head) + size)
		return false;
	evbuffer_drain(input, sizeof(head));
	evbuffer_remove(input, content, size);
	content[size] = '\0';
	channel->options.heard(channel->options.data, *head, content, size);
	return true;
}

/* ---- the way there ------------------------------------------------------------------------ */

/* Of an answer that is none: its body may still come, and is short. */
static int judge(const struct http_head *head, const char *body, size_t length, struct err *err)
{
	if (head->status == 101)
		return 0;
	if (http_response_check(head->status, body, length, err) == 0)
		err_set(err, ERR_INPUT, "it does not change to %s", CHANNEL_PROTOCOL);
	return -1;
}

/* 1: it is open; 0: more is to come; -1: ended. */
static int take_answer(struct channel *channel, bool is_over)
{
	struct evbuffer *input = channel->wire.input;
	size_t have = evbuffer_get_length(input);
	const char *bytes = have > 0 ? (const char *)evbuffer_pullup(input, -1) : "";
	size_t length = have > 0 ? http_head_length(bytes, have, 0) : 0;
	struct err err cleanup_err = {0};
	struct http_head head = {0};

	if (length == 0 && have < HEAD_CAP && !is_over)
		return 0;
	if (length == 0)
		err_set(&err, is_over ? ERR_UNREACHABLE : ERR_INPUT, "%s",
			is_over ? "it closed the connection" : "its answer is no HTTP");
	else if (http_head_parse_response(&head, bytes, length, &err) == 0) {
		bool is_whole = head.status == 101 || is_over ||
				(int64_t)(have - length) >= head.content_length;
		char *body cleanup_free = mem_strndup(bytes + length, have - length);
		if (!is_whole) {
			http_head_finish(&head);
			return 0;
		}
		judge(&head, body, have - length, &err);
		http_head_finish(&head);
	}
	if (err.kind != ERR_NONE) {
		end(channel, &err);
		return -1;
	}
	evbuffer_drain(input, length);
	event_del(&channel->deadline);
	channel->is_open = true;
	channel->options.opened(channel->options.data);
	return 1;
}

/* Does what the bytes at hand allow. */
static void go_on(struct channel *channel, bool is_over)
{
	channel->is_busy = true;
	if (channel->is_open || take_answer(channel, is_over) > 0) {
		while (!channel->is_closed && channel->is_open && take_frame(channel))
			continue;
	}
	channel->is_busy = false;
	if (channel->is_closed)
		destroy(channel);
	else
		wire_resume(&channel->wire);
}

static void on_input(void *data)
{
	go_on(data, false);
}

static void on_output(void *data)
{
	struct channel *channel = data;

	if (channel_has_room(channel))
		channel->options.drained(channel->options.data);
}

static void on_end(void *data, int error)
{
	struct channel *channel = data;
	struct err err cleanup_err = {0};

	wire_stop_reading(&channel->wire);
	if (!channel->is_open && !error) {
		go_on(channel, true);
		return;
	}
	if (error)
		wire_err(&channel->wire, error, &err);
	else
		err_set(&err, ERR_UNREACHABLE, "the connection has ended");
	channel->is_open = false;
	end(channel, &err);
}

static void on_late(evutil_socket_t fd, short what, void *data)
{
	struct err err cleanup_err = {0};

	err_set(&err, ERR_UNREACHABLE, "no answer came within %d s", ANSWER_MS / 1000);
	end(data, &err);
}

static void on_dialed(void *data, int fd, const struct err *err)
{
	struct channel *channel = data;

	channel->dial = NULL;
	if (fd < 0) {
		end(channel, err);
		return;
	}
	channel->wire = (struct wire){
		.tls = channel->tls ? tls_create(channel->tls, NULL) : NULL,
		.input_cap = ROOM,
		.on_input = on_input,
		.on_output = on_output,
		.on_end = on_end,
		.data = channel,
	};
	wire_init(&channel->wire, channel->options.base, fd);
	channel->is_connected = true;
	evbuffer_add(channel->wire.output, channel->question, strlen(channel->question));
	mem_free_secret(mem_steal(&channel->question));
	wire_flush(&channel->wire);
	timer_start(&channel->deadline, ANSWER_MS);
}

struct channel *channel_open(const struct channel_options *options, struct err *err)
{
	const struct http_target *target = &options->target;
	struct channel *channel = mem_alloc(sizeof(*channel));

	channel->options = *options;
	channel->options.target = (struct http_target){0}; /* texts of the caller's */
	channel->options.path = NULL;
	event_assign(&channel->deadline, options->base, -1, 0, on_late, channel);
	char *host cleanup_free = http_client_host(target->address, false);
	const char *shown = target->identity ? NULL : target->token;
	channel->question =
		mem_printf("POST %s HTTP/1.1\r\nHost: %s\r\n%s%s%s"
			   "Connection: Upgrade\r\nUpgrade: " CHANNEL_PROTOCOL "\r\n\r\n",
			   options->path, host, shown ? "Authorization: Bearer " : "",
			   shown ? shown : "", shown ? "\r\n" : "");
	channel->tls = target->is_sealed ? tls_context_create_named(target->identity, target->token)
					 : NULL;
	channel->dial =
		dial_start(options->base, target->address, DIAL_MS, on_dialed, channel, err);
	if (!channel->dial) {
		destroy(channel);
		return NULL;
	}
	dial_demand_owner(channel->dial, target->owner, NULL);
	return channel;
}
