#include "server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"

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

static const struct http_route routes[] = {
	{"GET", "/echo", handle_echo},	      {"POST", "/echo", handle_echo},
	{"GET", "/item/{name}", handle_item}, {"GET", "/hold", handle_hold},
	{"GET", "/stream", handle_stream},    {"GET", "/open", handle_echo, true},
	{"GET", "/big", handle_big},
};

void fixture_open(struct fixture *fixture, const struct http_limits *limits)
{
	struct http_server_config config = {
		.address = "127.0.0.1:0",
		.token = TEST_TOKEN,
		.routes = routes,
		.route_count = array_length(routes),
		.data = fixture,
	};

	memset(fixture, 0, sizeof(*fixture));
	if (limits)
		config.limits = *limits;
	fixture->base = event_base_new();
	fixture->server = http_server_create(fixture->base, &config, NULL);
	assert_non_null(fixture->server);
}

void fixture_close(struct fixture *fixture)
{
	http_server_destroy(fixture->server);
	event_base_free(fixture->base);
}
