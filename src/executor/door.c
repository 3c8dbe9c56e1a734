#include "executor/door.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "net/http_server.h"

struct door {
	struct door_options options;
	struct http_server *server;
};

static void on_call(void *data, struct http_request *request)
{
	struct door *door = data;
	struct am_call call cleanup_am_call = {0};
	struct err err cleanup_err = {0};
	size_t length;
	const char *body = http_request_body(request, &length);

	if (am_call_parse(&door->options.self, body, length, &call, &err) < 0) {
		bool is_denied = err.kind == ERR_DENIED;
		http_answer_error(request, is_denied ? 401 : 400,
				  is_denied ? "unauthorized" : "bad-request", "%s",
				  err_message(&err));
	} else if (door->options.called(door->options.data, &call)) {
		http_answer_json(request, 200, json_object());
	} else {
		http_answer_error(request, 409, "stale", "another AM is at work");
	}
}

static const struct http_route routes[] = {
	{"POST", AM_CALL_PATH, on_call, .needs = HTTP_ACCESS_NONE, .stranger_body = AM_CALL_CAP},
};

struct door *door_open(const struct door_options *options, struct err *err)
{
	struct door *door = mem_alloc(sizeof(*door));
	const struct http_server_config config = {
		.address = "0.0.0.0:0", /* a container may have an address of its own */
		.token = options->self.token,
		.routes = routes,
		.route_count = array_length(routes),
		.data = door,
		.any_host = true,
		.limits = {.head_bytes = 4096,
			   .body_bytes = AM_CALL_CAP,
			   .connections = 8,
			   .idle_ms = 5000},
	};

	door->options = *options;
	door->server = http_server_create(options->base, &config, err);
	if (door->server)
		return door;
	free(door);
	return NULL;
}

void door_close(struct door *door)
{
	if (!door)
		return;
	http_server_destroy(door->server);
	free(door);
}

int door_port(const struct door *door)
{
	return atoi(strrchr(http_server_address(door->server), ':') + 1);
}
