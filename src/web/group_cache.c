#include "web/group_cache.h"

#include <stdlib.h>

#include "base/mem.h"

struct known {
	char *user;
	struct str_list groups;
	bool is_asked_for;
	int64_t until_ms;
};

struct group_cache {
	void (*ask)(void *data, const char *user);
	void *data;
	struct known known[GROUP_CACHE_USERS_MAX];
	size_t next; /* makes way for a user who is not known */
};

struct group_cache *group_cache_create(void (*ask)(void *data, const char *user), void *data)
{
	struct group_cache *cache = mem_alloc(sizeof(*cache));

	cache->ask = ask;
	cache->data = data;
	return cache;
}

void group_cache_destroy(struct group_cache *cache)
{
	if (!cache)
		return;
	for (size_t i = 0; i < GROUP_CACHE_USERS_MAX; i++) {
		free(cache->known[i].user);
		str_list_finish(&cache->known[i].groups);
	}
	free(cache);
}

/* NULL: the user is none of them. */
static struct known *find_known(struct group_cache *cache, const char *user)
{
	for (size_t i = 0; i < GROUP_CACHE_USERS_MAX; i++)
		if (str_equal(cache->known[i].user, user))
			return &cache->known[i];
	return NULL;
}

static struct known *take_place(struct group_cache *cache, const char *user)
{
	struct known *place = &cache->known[cache->next];

	cache->next = (cache->next + 1) % GROUP_CACHE_USERS_MAX;
	mem_replace(&place->user, mem_strdup(user));
	place->is_asked_for = false;
	place->until_ms = INT64_MIN;
	return place;
}

const struct str_list *group_cache_find(struct group_cache *cache, const char *user, int64_t now_ms)
{
	struct known *place = find_known(cache, user);

	if (!place)
		place = take_place(cache, user);
	if (now_ms >= place->until_ms && !place->is_asked_for) {
		place->is_asked_for = true;
		cache->ask(cache->data, user);
	}
	return place->is_asked_for ? NULL : &place->groups;
}

void group_cache_tell(struct group_cache *cache, const char *user, struct str_list *groups,
		      int64_t now_ms)
{
	struct known *place = find_known(cache, user);

	if (!place) {
		str_list_finish(groups); /* he has made way for others */
		return;
	}
	str_list_finish(&place->groups);
	place->groups = *groups;
	*groups = (struct str_list){0};
	place->is_asked_for = false;
	place->until_ms = now_ms + GROUP_CACHE_MS;
}
