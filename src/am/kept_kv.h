/*
 * A store (kv.h) that the AM which follows has as well, where it has a file (kv_file.h).
 */
#ifndef TONY_AM_KEPT_KV_H
#define TONY_AM_KEPT_KV_H

#include "am/kv.h"

struct kept_kv;

/* With what the file tells. `path` NULL: in memory only, as where the file cannot be used, which is
 * logged. A file that can be written no more is removed: what is not whole is worse than nothing.
 */
struct kept_kv *kept_kv_open(size_t total_max, const char *path);
void kept_kv_close(struct kept_kv *kept); /* the file stays; NULL is fine */

/* As those of kv.h. */
enum kv_result kept_kv_put(struct kept_kv *kept, const char *key, const void *value, size_t length);
enum kv_result kept_kv_get(const struct kept_kv *kept, const char *key, const void **value,
			   size_t *length);
enum kv_result kept_kv_delete(struct kept_kv *kept, const char *key);
void kept_kv_delete_under(struct kept_kv *kept, const char *prefix); /* all keys that begin so */

#endif
