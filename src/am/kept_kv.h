/*
 * A store (kv.h) that the AM which follows has as well, where it has a file (kv_file.h).
 */
#ifndef TONY_AM_KEPT_KV_H
#define TONY_AM_KEPT_KV_H

#include "am/kv.h"
#include "base/err.h"

struct kept_kv;

/* With what the file tells. `path` NULL: in memory only, as where the file cannot be used, which is
 * logged, for `what` (a literal). */
struct kept_kv *kept_kv_open(const char *what, size_t total_max, const char *path);
/* A file to which a change cannot be added is removed: what is not whole is worse than nothing. But
 * from this call on it stays as it was before that change, until kept_kv_mend() brings it up to
 * date. */
void kept_kv_keep_beginning(struct kept_kv *kept);
/* 0: the file has all changes. -1: it still cannot be written. */
int kept_kv_mend(struct kept_kv *kept, struct err *err);
void kept_kv_close(struct kept_kv *kept); /* the file stays; NULL is fine */

/* As those of kv.h. */
enum kv_result kept_kv_put(struct kept_kv *kept, const char *key, const void *value, size_t length);
enum kv_result kept_kv_get(const struct kept_kv *kept, const char *key, const void **value,
			   size_t *length);
enum kv_result kept_kv_delete(struct kept_kv *kept, const char *key);
void kept_kv_each(const struct kept_kv *kept,
		  void (*value)(void *data, const char *key, const void *value, size_t length),
		  void *data);
size_t kept_kv_total(const struct kept_kv *kept);
/* Its file, if that has changed since this was asked last; NULL: it has not, or there is none. */
const char *kept_kv_changed(struct kept_kv *kept);
void kept_kv_delete_under(struct kept_kv *kept, const char *prefix); /* all keys that begin so */

#endif
