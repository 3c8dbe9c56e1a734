#include "am/gloo.h"

#include <stdlib.h>

#include "am/gloo_store.h"
#include "base/mem.h"
#include "net/http_server.h"

struct gloo {
	struct http_server *server;
	struct gloo_store *store;
};

static const char *scope_of(const struct http_request *request)
{
	return http_request_parameter(request, "scope");
}

static void handle_put(void *data, struct http_request *request)
{
	const struct gloo *gloo = data;

	gloo_store_put(gloo->store, request, scope_of(request));
}

static void handle_get(void *data, struct http_request *request)
{
	const struct gloo *gloo = data;

	gloo_store_get(gloo->store, request, scope_of(request));
}

static void handle_delete(void *data, struct http_request *request)
{
	const struct gloo *gloo = data;

	gloo_store_delete(gloo->store, request, scope_of(request));
}

struct gloo *gloo_create(struct event_base *base, const char *address, const struct slots *ring,
			 struct err *err)
{
	static const struct http_route routes[] = {
		{"PUT", "/{scope}/{key}", handle_put},
		{"GET", "/{scope}/{key}", handle_get},
		{"DELETE", "/{scope}/{key}", handle_delete},
	};
	struct gloo *gloo = mem_alloc(sizeof(*gloo));
	const struct http_server_config config = {
		.address = address,
		.routes = routes,
		.route_count = array_length(routes),
		.data = gloo,
		.limits = {.connections = 4 * ring->count + 1024},
	};

	gloo->store = gloo_store_create(ring);
	gloo->server = http_server_create(base, &config, err);
	if (!gloo->server) {
		gloo_destroy(gloo);
		return NULL;
	}
	return gloo;
}

void gloo_destroy(struct gloo *gloo)
{
	if (!gloo)
		return;
	http_server_destroy(gloo->server);
	gloo_store_destroy(gloo->store);
	free(gloo);
}

const char *gloo_address(const struct gloo *gloo)
{
	return http_server_address(gloo->server);
}
