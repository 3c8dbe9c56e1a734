/*
 * The rendezvous store: opaque values under keys, for programs that find each other through the AM.
 * In memory, and capped; kv_file.h keeps one for the AM that follows.
 */
#ifndef TONY_AM_KV_H
#define TONY_AM_KV_H

#include <stddef.h>

enum { KV_KEY_MAX = 512 };
#define KV_VALUE_MAX  ((size_t)1 << 20)
#define KV_TOTAL_MAX  ((size_t)64 << 20) /* of a store that need not be larger */
#define KV_ENTRY_COST 128

struct kv;
/* total_max: bytes of keys and values, and KV_ENTRY_COST for each. */
struct kv *kv_create(size_t total_max);
void kv_destroy(struct kv *kv); /* NULL is fine */

enum kv_result { KV_OK, KV_NO_SUCH_KEY, KV_BAD_KEY, KV_TOO_LARGE, KV_FULL };

/* A value of length 0 is one. On KV_FULL and KV_TOO_LARGE an old value stays. */
enum kv_result kv_put(struct kv *kv, const char *key, const void *value, size_t length);
/* *value is borrowed until the next change. */
enum kv_result kv_get(const struct kv *kv, const char *key, const void **value, size_t *length);
enum kv_result kv_delete(struct kv *kv, const char *key);

void kv_each(const struct kv *kv,
	     void (*value)(void *data, const char *key, const void *value, size_t length),
	     void *data);

size_t kv_total(const struct kv *kv); /* as total_max counts */

#endif
