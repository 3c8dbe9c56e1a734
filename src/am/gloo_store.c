#include "am/gloo_store.h"

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

struct gloo_store {
	struct kv *kv;
	struct map *scopes; /* of the ring, by name */
};

/* ---- requests ----------------------------------------------------------------------------- */

static char *key_of(const struct http_request *request, const char *scope)
{
	return mem_printf("%s/%s", scope, http_request_parameter(request, "key"));
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

void gloo_store_put(struct gloo_store *store, struct http_request *request, const char *scope)
{
	char *key cleanup_free = key_of(request, scope);
	size_t length;
	const char *value = http_request_body(request, &length);

	answer(request, kv_put(store->kv, key, value, length));
}

void gloo_store_get(const struct gloo_store *store, struct http_request *request, const char *scope)
{
	char *key cleanup_free = key_of(request, scope);
	const void *value;
	size_t length;
	enum kv_result result = kv_get(store->kv, key, &value, &length);

	if (result == KV_OK)
		http_answer_bytes(request, 200, "application/octet-stream", value, length);
	else
		answer(request, result);
}

/* Told twice (the answer got lost) is told once. */
static void leave(struct gloo_store *store, struct scope *scope, const char *name, const char *rank)
{
	char *prefix cleanup_free = mem_printf("%s/", name);
	int64_t number;

	if (str_parse_int(rank, 0, (int64_t)scope->size - 1, &number) < 0 ||
	    scope->has_left[number])
		return;
	scope->has_left[number] = true;
	if (++scope->left < scope->size)
		return;
	kv_delete_under(store->kv, prefix);
	memset(scope->has_left, 0, scope->size * sizeof(*scope->has_left));
	scope->left = 0;
}

void gloo_store_delete(struct gloo_store *store, struct http_request *request, const char *name)
{
	struct scope *scope = map_get(store->scopes, name);
	char *key cleanup_free = key_of(request, name);

	if (scope)
		leave(store, scope, name, http_request_parameter(request, "key"));
	else
		kv_delete(store->kv, key);
	answer(request, KV_OK);
}

/* ---- the ring ----------------------------------------------------------------------------- */

static void add_scope(struct gloo_store *store, size_t size, const char *name)
{
	if (map_get(store->scopes, name))
		return;
	struct scope *scope = mem_alloc(sizeof(*scope) + size * sizeof(*scope->has_left));
	scope->size = size;
	map_set(store->scopes, name, scope);
}

static void add_scopes(struct gloo_store *store, const struct slots *ring)
{
	add_scope(store, ring->count, "global");
	for (size_t i = 0; i < ring->count; i++) {
		const struct slot *slot = &ring->items[i];
		char *local cleanup_free = mem_printf("local_%s", slot->host);
		char *cross cleanup_free = mem_printf("cross_%d", slot->local_rank);
		add_scope(store, (size_t)slot->local_size, local);
		add_scope(store, (size_t)slot->cross_size, cross);
	}
}

static size_t size_of(const struct slots *ring)
{
	size_t needed = FULL_SCOPES * ring->count * (ring->count * ADDRESS_BYTES + KV_ENTRY_COST);

	return needed > KV_TOTAL_MAX ? needed : KV_TOTAL_MAX;
}

struct gloo_store *gloo_store_create(const struct slots *ring)
{
	struct gloo_store *store = mem_alloc(sizeof(*store));

	store->kv = kv_create(size_of(ring));
	store->scopes = map_create(free);
	add_scopes(store, ring);
	return store;
}

void gloo_store_destroy(struct gloo_store *store)
{
	if (!store)
		return;
	map_destroy(store->scopes);
	kv_destroy(store->kv);
	free(store);
}
