#include "am/horovod/gloo_store.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "am/kept_kv.h"
#include "base/map.h"
#include "base/mem.h"
#include "net/http_server.h"

/* What a process tells each of the others (gloo/transport/tcp/address.h), and how many scopes that
 * are as large as the ring are full at a time: its own, and that of its process set. */
enum { ADDRESS_BYTES = 136, FULL_SCOPES = 2, LEAVE_BYTES = 4 * KV_ENTRY_COST };
enum { VALUE_BYTES = 64 << 10, TOTAL_BYTES = 16 << 20 };

/* Of the ring itself. No request has such a path. */
static const char ring_key[] = "ring", address_key[] = "address";

/* How many members it has, and how many of them need it no more. That a rank does not is a value,
 * at "scope//rank", so that it is kept as well. */
struct scope {
	size_t size, left;
};

struct gloo_store {
	struct kept_kv *kv;
	struct map *scopes; /* of the ring, by name */
	size_t value_max;
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
		http_answer_error(request, 413, "too-large",
				  "the value is larger than a process of this ring needs");
		break;
	case KV_FULL:
		http_answer_error(request, 413, "too-large",
				  "the store holds twice what this ring needs, and takes no more");
		break;
	}
}

void gloo_store_put(struct gloo_store *store, struct http_request *request, const char *scope)
{
	char *key cleanup_free = key_of(request, scope);
	size_t length;
	const char *value = http_request_body(request, &length);

	answer(request, length > store->value_max ? KV_TOO_LARGE
						  : kept_kv_put(store->kv, key, value, length));
}

void gloo_store_get(const struct gloo_store *store, struct http_request *request, const char *scope)
{
	char *key cleanup_free = key_of(request, scope);
	const void *value;
	size_t length;
	enum kv_result result = kept_kv_get(store->kv, key, &value, &length);

	if (result == KV_OK)
		http_answer_bytes(request, 200, "application/octet-stream", value, length);
	else
		answer(request, result);
}

static bool has(const struct gloo_store *store, const char *key)
{
	const void *value;
	size_t length;

	return kept_kv_get(store->kv, key, &value, &length) == KV_OK;
}

static char *leave_key(const char *scope, size_t rank)
{
	return mem_printf("%s//%zu", scope, rank);
}

static void empty_if_left(struct gloo_store *store, struct scope *scope, const char *name)
{
	char *prefix cleanup_free = mem_printf("%s/", name);

	if (scope->left < scope->size)
		return;
	kept_kv_delete_under(store->kv, prefix);
	scope->left = 0;
}

/* Told twice (the answer got lost) is told once. */
static enum kv_result leave(struct gloo_store *store, struct scope *scope, const char *name,
			    const char *rank)
{
	int64_t number;

	if (str_parse_int(rank, 0, (int64_t)scope->size - 1, &number) < 0)
		return KV_OK;
	char *key cleanup_free = leave_key(name, (size_t)number);
	if (has(store, key))
		return KV_OK;
	enum kv_result result = kept_kv_put(store->kv, key, "", 0);
	scope->left += result == KV_OK;
	empty_if_left(store, scope, name);
	return result;
}

void gloo_store_delete(struct gloo_store *store, struct http_request *request, const char *name)
{
	struct scope *scope = map_get(store->scopes, name);
	char *key cleanup_free = key_of(request, name);

	if (scope) {
		answer(request, leave(store, scope, name, http_request_parameter(request, "key")));
		return;
	}
	kept_kv_delete(store->kv, key);
	answer(request, KV_OK);
}

/* ---- the ring ----------------------------------------------------------------------------- */

static void add_scope(struct gloo_store *store, size_t size, const char *name)
{
	if (map_get(store->scopes, name))
		return;
	struct scope *scope = mem_alloc(sizeof(*scope));
	scope->size = size;
	for (size_t rank = 0; rank < size; rank++) {
		char *key cleanup_free = leave_key(name, rank);
		scope->left += has(store, key);
	}
	empty_if_left(store, scope, name); /* the AM before died of it */
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

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

size_t gloo_store_value_max(size_t processes)
{
	return larger(2 * processes * ADDRESS_BYTES, VALUE_BYTES);
}

size_t gloo_store_total_max(size_t processes)
{
	return larger(FULL_SCOPES * processes * (processes * ADDRESS_BYTES + LEAVE_BYTES),
		      TOTAL_BYTES);
}

static char *text_of(const struct gloo_store *store, const char *key)
{
	const void *value;
	size_t length;

	return kept_kv_get(store->kv, key, &value, &length) == KV_OK ? mem_strndup(value, length)
								     : NULL;
}

static void set_text(struct gloo_store *store, const char *key, const char *text)
{
	kept_kv_put(store->kv, key, text, strlen(text));
}

static void open_kept(struct gloo_store *store, size_t size, const char *name, const char *file)
{
	store->kv = kept_kv_open("the store of the ring", size, file);
	char *known cleanup_free = text_of(store, ring_key);
	if (str_equal(known, name))
		return;
	if (known) { /* another ring's */
		kept_kv_close(store->kv);
		unlink(file);
		store->kv = kept_kv_open("the store of the ring", size, file);
	}
	set_text(store, ring_key, name);
}

struct gloo_store *gloo_store_create(const struct slots *ring, const char *name, const char *file)
{
	struct gloo_store *store = mem_alloc(sizeof(*store));

	store->value_max = gloo_store_value_max(ring->count);
	open_kept(store, gloo_store_total_max(ring->count), name, file);
	store->scopes = map_create(free);
	add_scopes(store, ring);
	return store;
}

char *gloo_store_address(const struct gloo_store *store)
{
	return text_of(store, address_key);
}

void gloo_store_set_address(struct gloo_store *store, const char *address)
{
	set_text(store, address_key, address);
}

void gloo_store_destroy(struct gloo_store *store)
{
	if (!store)
		return;
	map_destroy(store->scopes);
	kept_kv_close(store->kv);
	free(store);
}
