#include "am/kv.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"

struct kv_value {
	size_t length;
	char bytes[];
};

struct kv {
	struct map *values;
	size_t total, total_max;
};

struct kv *kv_create(size_t total_max)
{
	struct kv *kv = mem_alloc(sizeof(*kv));

	kv->values = map_create(free);
	kv->total_max = total_max;
	return kv;
}

void kv_destroy(struct kv *kv)
{
	if (!kv)
		return;
	map_destroy(kv->values);
	free(kv);
}

static size_t cost(const char *key, size_t length)
{
	return strlen(key) + length + KV_ENTRY_COST;
}

static bool is_key(const char *key)
{
	size_t length = strlen(key);

	return length > 0 && length <= KV_KEY_MAX;
}

enum kv_result kv_put(struct kv *kv, const char *key, const void *value, size_t length)
{
	if (!is_key(key))
		return KV_BAD_KEY;
	if (length > KV_VALUE_MAX)
		return KV_TOO_LARGE;
	const struct kv_value *old = map_get(kv->values, key);
	size_t total = kv->total - (old ? cost(key, old->length) : 0) + cost(key, length);
	if (total > kv->total_max)
		return KV_FULL;
	struct kv_value *copy = mem_alloc(sizeof(*copy) + length);
	copy->length = length;
	if (length > 0)
		memcpy(copy->bytes, value, length);
	map_set(kv->values, key, copy);
	kv->total = total;
	return KV_OK;
}

enum kv_result kv_get(const struct kv *kv, const char *key, const void **value, size_t *length)
{
	const struct kv_value *found = map_get(kv->values, key);

	if (!is_key(key))
		return KV_BAD_KEY;
	if (!found)
		return KV_NO_SUCH_KEY;
	*value = found->bytes;
	*length = found->length;
	return KV_OK;
}

enum kv_result kv_delete(struct kv *kv, const char *key)
{
	const struct kv_value *found = map_get(kv->values, key);

	if (!is_key(key))
		return KV_BAD_KEY;
	if (!found)
		return KV_NO_SUCH_KEY;
	kv->total -= cost(key, found->length);
	map_remove(kv->values, key);
	return KV_OK;
}

void kv_each(const struct kv *kv,
	     void (*value)(void *data, const char *key, const void *value, size_t length),
	     void *data)
{
	const char *key;
	void *found;

	for (size_t i = 0; map_next(kv->values, &i, &key, &found);) {
		const struct kv_value *held = found;
		value(data, key, held->bytes, held->length);
	}
}

size_t kv_total(const struct kv *kv)
{
	return kv->total;
}
