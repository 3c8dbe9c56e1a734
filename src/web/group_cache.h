/*
 * The users whom another server names, a proxy or a KDC, and the groups that this machine knows of
 * them. Its name services may be slow (LDAP): they are asked about a user once in a minute at most.
 */
#ifndef TONY_WEB_GROUP_CACHE_H
#define TONY_WEB_GROUP_CACHE_H

#include <stdint.h>

#include "base/str.h"

enum { GROUP_CACHE_MS = 60 * 1000, GROUP_CACHE_USERS_MAX = 256 };

struct group_cache;

/* `ask` finds the groups of a user for group_cache_tell(), at once or later. */
struct group_cache *group_cache_create(void (*ask)(void *data, const char *user), void *data);
void group_cache_destroy(struct group_cache *cache); /* NULL is fine */

/* NULL: they are asked for, and not told yet. Good until the next call. `now_ms` is monotonic. */
const struct str_list *group_cache_find(struct group_cache *cache, const char *user,
					int64_t now_ms);

/* Answers `ask`. Takes the groups. */
void group_cache_tell(struct group_cache *cache, const char *user, struct str_list *groups,
		      int64_t now_ms);

#endif
