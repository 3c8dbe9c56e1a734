#include "am/gloo.h"

#include <stdlib.h>
#include <string.h>

#include "am/kv.h"
#include "base/map.h"
#include "base/mem.h"
#include "net/http_server.h"

/* What a process tells each of the others (gloo/transport/tcp/address.h), and how many scopes that
 * are as large as the ring are full at a time: its own, and that of its process set. */
enum { ADDRESS_BYTES = 136, FULL_SCOPES = 2 };

/* Who of the members needs it no more. */
struct scope {
	size_t size, left;
	bool has_left[];
};

struct gloo {
	struct http_server *server;
	struct kv *kv;
	struct map *scopes; /* of the ring, by name */
};

/* ---- requests ----------------------------------------------------------------------------- */

static char *key_of(const struct http_request *request)
{
	return mem_printf("%s/%s", http_request_parameter(request, "scope"),
			  http_request_parameter(request, "key"));
}

static void answer(struct http_request *request, enum kv_result result)
{
	switch (result) {
	case KV_OK:
		http_answer_bytes(request, 200, "application/octet-stream", "", 0);
		break;
	case KV_NO_SUCH_KEY:
		http_answer_error(request, 404, "not-found", "the store has no such key");
		break;
	case KV_BAD_KEY:
		http_answer_error(request, 400, "bad-request", "the key is too long");
		break;
	case KV_TOO_LARGE:
	case KV_FULL:
		http_answer_error(request, 413, "too-large",
				  "the value, or the store, is too large");
		break;
	}
}

static void handle_put(void *data, struct http_request *request)
{
	struct gloo *gloo = data;
	char *key cleanup_free = key_of(request);
	size_t length;
	const char *value = http_request_body(request, &length);

	answer(request, kv_put(gloo->kv, key, value, length));
}

static void handle_get(void *data, struct http_request *request)
{
	const struct gloo *gloo = data;
	char *key cleanup_free = key_of(request);
	const void *value;
	size_t length;
	enum kv_result result = kv_get(gloo->kv, key, &value, &length);

	if (result == KV_OK)
		http_answer_bytes(request, 200, "application/octet-stream", value, length);
	else
		answer(request, result);
}

/* Told twice (the answer got lost) is told once. */
static void leave(struct gloo *gloo, struct scope *scope, const char *name, const char *rank)
{
	char *prefix cleanup_free = mem_printf("%s/", name);
	int64_t number;

	if (str_parse_int(rank, 0, (int64_t)scope->size - 1, &number) < 0 ||
	    scope->has_left[number])
		return;
	scope->has_left[number] = true;
	if (++scope->left < scope->size)
		return;
	kv_delete_under(gloo->kv, prefix);
	memset(scope->has_left, 0, scope->size * sizeof(*scope->has_left));
	scope->left = 0;
}

static void handle_delete(void *data, struct http_request *request)
{
	struct gloo *gloo = data;
	const char *name = http_request_parameter(request, "scope");
	struct scope *scope = map_get(gloo->scopes, name);
	char *key cleanup_free = key_of(request);

	if (scope)
		leave(gloo, scope, name, http_request_parameter(request, "key"));
	else
		kv_delete(gloo->kv, key);
	answer(request, KV_OK);
}

/* ---- the ring ----------------------------------------------------------------------------- */

static void add_scope(struct gloo *gloo, size_t size, const char *name)
{
	if (map_get(gloo->scopes, name))
		return;
	struct scope *scope = mem_alloc(sizeof(*scope) + size * sizeof(*scope->has_left));
	scope->size = size;
	map_set(gloo->scopes, name, scope);
}

static void add_scopes(struct gloo *gloo, const struct slots *ring)
{
	add_scope(gloo, ring->count, "global");
	for (size_t i = 0; i < ring->count; i++) {
		const struct slot *slot = &ring->items[i];
		char *local cleanup_free = mem_printf("local_%s", slot->host);
		char *cross cleanup_free = mem_printf("cross_%d", slot->local_rank);
		add_scope(gloo, (size_t)slot->local_size, local);
		add_scope(gloo, (size_t)slot->cross_size, cross);
	}
}

static size_t store_size(const struct slots *ring)
{
	size_t needed = FULL_SCOPES * ring->count * (ring->count * ADDRESS_BYTES + KV_ENTRY_COST);

	return needed > KV_TOTAL_MAX ? needed : KV_TOTAL_MAX;
}

struct gloo *gloo_create(struct event_base *base, const char *address, const struct slots *ring,
			 struct err *err)
{
	static const struct http_route routes[] = {
		{"PUT", "/{scope}/{key}", handle_put, .open = true},
		{"GET", "/{scope}/{key}", handle_get, .open = true},
		{"DELETE", "/{scope}/{key}", handle_delete, .open = true},
	};
	struct gloo *gloo = mem_alloc(sizeof(*gloo));
	const struct http_server_config config = {
		.address = address,
		.routes = routes,
		.route_count = array_length(routes),
		.data = gloo,
		.limits = {.connections = 4 * ring->count + 1024},
	};

	gloo->kv = kv_create(store_size(ring));
	gloo->scopes = map_create(free);
	add_scopes(gloo, ring);
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
	map_destroy(gloo->scopes);
	kv_destroy(gloo->kv);
	free(gloo);
}

const char *gloo_address(const struct gloo *gloo)
{
	return http_server_address(gloo->server);
}
