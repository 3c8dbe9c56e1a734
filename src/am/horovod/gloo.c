#include "am/horovod/gloo.h"

#include <stdlib.h>

#include "am/horovod/gloo_store.h"
#include "base/mem.h"
#include "base/str.h"
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

/* Where those who meet there believe it to be, or else anywhere. */
static struct http_server *serve(struct event_base *base, const struct gloo *gloo,
				 struct http_server_config *config, struct err *err)
{
	const char *anywhere = config->address;
	char *known cleanup_free = gloo_store_address(gloo->store);
	struct http_server *server = NULL;

	if (known) {
		config->address = known;
		server = http_server_create(base, config, NULL);
		config->address = anywhere;
	}
	return server ? server : http_server_create(base, config, err);
}

struct gloo *gloo_create(struct event_base *base, const char *address, const char *host,
			 const struct slots *ring, const char *name, const char *file,
			 struct err *err)
{
	static const struct http_route routes[] = {
		{"PUT", "/{scope}/{key}", handle_put},
		{"GET", "/{scope}/{key}", handle_get},
		{"DELETE", "/{scope}/{key}", handle_delete},
	};
	struct gloo *gloo = mem_alloc(sizeof(*gloo));
	struct http_server_config config = {
		.address = address,
		.routes = routes,
		.route_count = array_length(routes),
		.data = gloo,
		.host = host,
		/* All its callers are strangers. They send what it keeps next. */
		.limits = {.connections = 4 * ring->count + 1024,
			   .body_bytes = gloo_store_value_max(ring->count),
			   .stranger_bytes = gloo_store_total_max(ring->count)},
	};

	gloo->store = gloo_store_create(ring, name, file);
	gloo->server = serve(base, gloo, &config, err);
	if (!gloo->server) {
		gloo_destroy(gloo);
		return NULL;
	}
	gloo_store_set_address(gloo->store, gloo_address(gloo));
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
