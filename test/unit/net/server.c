#include "server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <event2/buffer.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "net/gzip.h"
#include "net/http_message.h"

enum { BIG_BYTES = 8 << 20 };

static void handle_echo(void *data, struct http_request *request)
{
	struct fixture *fixture = data;
	const char *text = http_request_query(request, "text");
	size_t length;
	const char *body = http_request_body(request, &length);

	fixture->handled++;
	if (text)
		http_answer_bytes(request, 200, "text/plain", text, strlen(text));
	else
		http_answer_bytes(request, 200, "text/plain", body, length);
}

static void handle_item(void *data, struct http_request *request)
{
	json_t *answer = json_object();
	int64_t count = 7;

	if (http_request_query_int(request, "count", 1, 10, &count) < 0) {
		json_decref(answer);
		return;
	}
	json_set_text(answer, "name", http_request_parameter(request, "name"));
	json_set_int(answer, "count", count);
	http_answer_json(request, 200, answer);
}

static void on_closed(void *data)
{
	struct fixture *fixture = data;

	fixture->closed_count++;
	fixture->has_closed = true;
}

static void handle_hold(void *data, struct http_request *request)
{
	struct fixture *fixture = data;

	assert_true(fixture->held_count < array_length(fixture->held));
	fixture->held[fixture->held_count++] = request;
	fixture->has_held = true;
	http_request_hold(request, on_closed, fixture);
}

static void fill(void *data, struct http_stream *stream)
{
	struct fixture *fixture = data;

	fixture->fills++;
	if (fixture->yields)
		http_stream_yield(stream);
	if (fixture->fill_bytes > 0) {
		char *bytes cleanup_free = mem_alloc(fixture->fill_bytes);
		memset(bytes, 'x', fixture->fill_bytes);
		http_stream_write(stream, bytes, fixture->fill_bytes);
		fixture->filled += fixture->fill_bytes;
	}
	if (fixture->line) {
		http_stream_write(stream, fixture->line, strlen(fixture->line));
		fixture->line = NULL;
	}
	if (fixture->end_stream)
		http_stream_end(stream);
}

static void handle_stream(void *data, struct http_request *request)
{
	struct fixture *fixture = data;

	fixture->stream = http_answer_stream(
		request, "text/plain",
		&(struct http_stream_source){.fill = fill, .closed = on_closed, .data = fixture});
}

static void handle_big(void *data, struct http_request *request)
{
	struct fixture *fixture = data;
	char *bytes cleanup_free = mem_alloc(BIG_BYTES);

	fixture->handled++;
	http_answer_bytes(request, 200, "application/octet-stream", bytes, BIG_BYTES);
}

/* So many bytes, compressed. Where `cut` is given, its last so many are missing. */
static void handle_gzip(void *data, struct http_request *request)
{
	int64_t count = 0, cut = 0;

	if (http_request_query_int(request, "bytes", 0, 1 << 30, &count) < 0 ||
	    http_request_query_int(request, "cut", 0, 1 << 30, &cut) < 0)
		return;
	char *bytes cleanup_free = mem_alloc((size_t)count + 1);
	memset(bytes, 'x', (size_t)count);
	if (!http_request_takes_gzip(request)) {
		http_answer_bytes(request, 200, "text/plain", bytes, (size_t)count);
		return;
	}
	struct gzip_part *part = gzip_part_create(bytes, (size_t)count);
	struct evbuffer *body = evbuffer_new();
	struct gzip_body file;
	gzip_begin(&file, body);
	gzip_add_part(&file, part);
	gzip_end(&file);
	char *all cleanup_free = mem_alloc(evbuffer_get_length(body));
	size_t length = (size_t)evbuffer_remove(body, all, evbuffer_get_length(body));
	http_answer_header(request, "Content-Encoding", "gzip");
	http_answer_bytes(request, 200, "text/plain", all, length - (size_t)cut);
	evbuffer_free(body);
	gzip_part_destroy(part);
}

static void on_raw_changed(void *data)
{
	struct fixture *fixture = data;
	struct evbuffer *input = http_raw_input(fixture->raw);
	struct evbuffer_ptr dot = evbuffer_search(input, ".", 1, NULL);
	evbuffer_add_buffer(http_raw_output(fixture->raw), input);
	http_raw_go_on(fixture->raw);
	if (dot.pos >= 0)
		http_raw_end(fixture->raw);
}

static void handle_raw(void *data, struct http_request *request)
{
	struct fixture *fixture = data;
	char *peer cleanup_free = http_request_peer(request);

	assert_string_equal(peer, "127.0.0.1");
	if (http_request_query(request, "refuse")) {
		http_answer_error(request, 502, "gone", "%s", http_request_head(request)->method);
		return;
	}
	fixture->raw = request;
	http_request_take_over(request, &(struct http_raw){.changed = on_raw_changed,
							   .closed = on_closed,
							   .data = fixture});
}

static enum http_access authorize(void *data, const struct http_request *request)
{
	struct fixture *fixture = data;
	const char *access = http_request_header(request, "X-Access");

	if (access && strcmp(access, "ask") == 0) {
		fixture->asked++;
		access = fixture->access;
		if (!access)
			return HTTP_ACCESS_LATER;
	}
	return access && strcmp(access, "read") == 0 ? HTTP_ACCESS_READ : HTTP_ACCESS_NONE;
}

static bool knows_host(void *data, const struct http_request *request, const char *name)
{
	return strcmp(name, "known.example") == 0;
}

static const struct http_route routes[] = {
	{"GET", "/echo", handle_echo},
	{"POST", "/echo", handle_echo},
	{"GET", "/item/{name}", handle_item},
	{"GET", "/hold", handle_hold},
	{"GET", "/gzip", handle_gzip},
	{"GET", "/stream", handle_stream},
	{"GET", "/open", handle_echo, .needs = HTTP_ACCESS_NONE},
	{"PUT", "/open", handle_echo, .needs = HTTP_ACCESS_NONE, .stranger_body = OPEN_BODY},
	{"GET", "/big", handle_big},
	{"GET", "/look", handle_echo, HTTP_ACCESS_READ},
	{"*", "/raw", handle_raw, HTTP_ACCESS_READ, .raw = true},
};

static void open_server(struct fixture *fixture, const struct http_limits *limits, bool is_sealed)
{
	struct http_server_config config = {
		.address = "127.0.0.1:0",
		.token = TEST_TOKEN,
		.is_sealed = is_sealed,
		.routes = routes,
		.route_count = array_length(routes),
		.data = fixture,
		.authorize = authorize,
		.host = "own.example",
		.knows_host = knows_host,
	};

	memset(fixture, 0, sizeof(*fixture));
	if (limits)
		config.limits = *limits;
	fixture->base = event_base_new();
	fixture->server = http_server_create(fixture->base, &config, NULL);
	assert_non_null(fixture->server);
}

void fixture_open(struct fixture *fixture, const struct http_limits *limits)
{
	open_server(fixture, limits, false);
}

void fixture_open_sealed(struct fixture *fixture, const struct http_limits *limits)
{
	open_server(fixture, limits, true);
}

void fixture_close(struct fixture *fixture)
{
	http_server_destroy(fixture->server);
	event_base_free(fixture->base);
}

int fixture_set_up(void **state)
{
	struct fixture *fixture = mem_alloc(sizeof(*fixture));

	fixture_open(fixture, NULL);
	*state = fixture;
	return 0;
}

int fixture_tear_down(void **state)
{
	fixture_close(*state);
	free(*state);
	return 0;
}
