/*
 * What the processes of one ring of Horovod's tell each other while they meet: opaque values under
 * /SCOPE/KEY, kept as horovodrun keeps them.
 *
 * PUT and GET are those of every store (404 until there). DELETE /SCOPE/RANK says that this rank
 * needs the scope no more: a scope of the ring is emptied when all its members have said so, of any
 * other scope that key is removed.
 */
#ifndef TONY_AM_HOROVOD_GLOO_STORE_H
#define TONY_AM_HOROVOD_GLOO_STORE_H

#include "framework/slots.h"

struct gloo_store;
struct http_request;

/* Anybody may fill it, so it takes no more than twice what a ring of so many processes needs, and
 * 64 KiB in a value or 16 MiB in all (as kv.h counts) of a small one. */
size_t gloo_store_value_max(size_t processes);
size_t gloo_store_total_max(size_t processes);

/* `ring` is borrowed for the call. Where it has a file
 * the AM that follows has the store of the same ring, by its name, as well. `file` NULL: none. */
struct gloo_store *gloo_store_create(const struct slots *ring, const char *name, const char *file);
void gloo_store_destroy(struct gloo_store *store); /* NULL is fine */

/* Where it is served; NULL: nowhere yet. The caller frees. */
char *gloo_store_address(const struct gloo_store *store);
void gloo_store_set_address(struct gloo_store *store, const char *address);

/* Answer the request, whose path has a {key}. */
void gloo_store_put(struct gloo_store *store, struct http_request *request, const char *scope);
void gloo_store_get(const struct gloo_store *store, struct http_request *request,
		    const char *scope);
void gloo_store_delete(struct gloo_store *store, struct http_request *request, const char *scope);

#endif
