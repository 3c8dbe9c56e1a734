/*
 * HTTP as strangers and friends send it. The first byte says where the input is cut in two, so that
 * what depends on how the network delivers is reached; the rest goes to a whole server over a
 * socket pair, to the client's side of the parser, and through the decoder of chunks, whose result
 * must not depend on the cut.
 */
#include <event2/buffer.h>
#include <event2/event.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "net/http_internal.h"

enum { INPUT_CAP = 128 * 1024 }; /* what a socket takes without a reader */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void handle_echo(void *data, struct http_request *request)
{
	const char *text = http_request_query(request, "text");
	int64_t number = 0;
	size_t length;
	const char *body = http_request_body(request, &length);

	if (http_request_query_int(request, "number", -5, 5, &number) < 0)
		return;
	if (text)
		http_answer_error(request, 404, "not-found", "%s", text);
	else
		http_answer_bytes(request, 200, "text/plain", body, length);
}

static void on_closed(void *data)
{
}

static void handle_hold(void *data, struct http_request *request)
{
	http_request_hold(request, on_closed, NULL);
}

static void fill(void *data, struct http_stream *stream)
{
	http_stream_write(stream, "line\n", 5);
	http_stream_end(stream);
}

static void handle_stream(void *data, struct http_request *request)
{
	http_answer_stream(request, "text/plain",
			   &(struct http_stream_source){.fill = fill, .closed = on_closed});
}

/* The connection is its own: what comes goes back, until a dot does. */
static struct http_request *raw;

static void on_raw_changed(void *data)
{
	struct evbuffer *input = http_raw_input(raw);
	struct evbuffer_ptr dot = evbuffer_search(input, ".", 1, NULL);

	evbuffer_add_buffer(http_raw_output(raw), input);
	http_raw_go_on(raw);
	if (dot.pos >= 0)
		http_raw_end(raw);
}

static void handle_raw(void *data, struct http_request *request)
{
	if (http_request_query(request, "refuse")) {
		http_answer_error(request, 502, "no-answer", "%s",
				  http_request_head(request)->method);
		return;
	}
	raw = request;
	http_request_take_over(request,
			       &(struct http_raw){.changed = on_raw_changed, .closed = on_closed});
}

static enum http_access authorize(void *data, const struct http_request *request)
{
	return http_request_header(request, "Cookie") ? HTTP_ACCESS_READ : HTTP_ACCESS_NONE;
}

static const struct http_route routes[] = {
	{"GET", "/echo", handle_echo},
	{"POST", "/echo/{name}", handle_echo},
	{"PUT", "/kv/{key*}", handle_echo},
	{"GET", "/hold", handle_hold},
	{"GET", "/stream", handle_stream},
	{"GET", "/look", handle_echo, HTTP_ACCESS_READ},
	{"*", "/raw/{path*}", handle_raw, HTTP_ACCESS_READ, .raw = true},
};

static struct event_base *base;
static struct http_server *server;

static void open_server(void)
{
	struct err err = {0};
	const struct http_server_config config = {
		.address = "127.0.0.1:0",
		.token = "t",
		.authorize = authorize,
		.routes = routes,
		.route_count = array_length(routes),
		.limits = {.head_bytes = 2048, .body_bytes = 4096},
	};

	base = event_base_new();
	server = http_server_create(base, &config, &err);
	if (!server)
		BUG("%s", err_message(&err));
}

static void run(void)
{
	for (int i = 0; i < 4; i++)
		event_base_loop(base, EVLOOP_NONBLOCK);
}

static void serve(const uint8_t *data, size_t size, size_t cut)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0)
		BUG("no socket pair");
	http_connection_open(server, fds[0]);
	send(fds[1], data, cut, MSG_DONTWAIT | MSG_NOSIGNAL);
	run();
	send(fds[1], data + cut, size - cut, MSG_DONTWAIT | MSG_NOSIGNAL);
	run();
	close(fds[1]);
	while (http_server_connection_count(server) > 0)
		event_base_loop(base, EVLOOP_ONCE);
}

static void parse_response(const char *text, size_t size)
{
	struct http_head head;
	size_t length = http_head_length(text, size, 0);

	if (length == 0 || http_head_parse_response(&head, text, length, NULL) < 0)
		return;
	if (head.status < 100 || head.status > 999)
		BUG("status %d", head.status);
	http_head_finish(&head);
}

static int unchunk(const char *text, size_t size, size_t cut, struct str *body)
{
	struct http_chunks chunks = {0};

	for (size_t at = 0; at < size && chunks.state != CHUNKS_DONE;) {
		size_t end = at < cut ? cut : size, data_length;
		const char *data;
		ssize_t used = http_chunks_next(&chunks, text + at, end - at, &data, &data_length);
		if (used < 0)
			return -1;
		if (used == 0)
			BUG("no progress");
		str_append_bytes(body, data, data_length);
		at += (size_t)used;
	}
	return chunks.state == CHUNKS_DONE;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str whole cleanup_str = {0};
	struct str parts cleanup_str = {0};

	if (size < 1 || size > INPUT_CAP)
		return 0;
	if (!server)
		open_server();
	size_t cut = data[0] * (size - 1) / 255;
	const char *text = (const char *)data + 1;
	serve(data + 1, size - 1, cut);
	parse_response(text, size - 1);
	if (unchunk(text, size - 1, 0, &whole) != unchunk(text, size - 1, cut, &parts) ||
	    strcmp(str_text(&whole), str_text(&parts)) != 0)
		BUG("the cut at %zu changes the body", cut);
	return 0;
}
