#include "portal/groups.h"

#include <stdlib.h>

#include "base/mem.h"

struct known {
	char *user;
	struct str_list groups;
	int64_t until_ms;
};

struct portal_groups {
	void (*ask)(const char *user, struct str_list *groups);
	struct known known[PORTAL_GROUPS_USERS_MAX];
	size_t next; /* makes way for a user who is not known */
};

struct portal_groups *portal_groups_create(void (*ask)(const char *user, struct str_list *groups))
{
	struct portal_groups *groups = mem_alloc(sizeof(*groups));

	groups->ask = ask;
	return groups;
}

void portal_groups_destroy(struct portal_groups *groups)
{
	if (!groups)
		return;
	for (size_t i = 0; i < PORTAL_GROUPS_USERS_MAX; i++) {
		free(groups->known[i].user);
		str_list_finish(&groups->known[i].groups);
	}
	free(groups);
}

static struct known *find_place(struct portal_groups *groups, const char *user)
{
	for (size_t i = 0; i < PORTAL_GROUPS_USERS_MAX; i++)
		if (str_equal(groups->known[i].user, user))
			return &groups->known[i];
	struct known *place = &groups->known[groups->next];
	groups->next = (groups->next + 1) % PORTAL_GROUPS_USERS_MAX;
	mem_replace(&place->user, mem_strdup(user));
	place->until_ms = INT64_MIN;
	return place;
}

const struct str_list *portal_groups_of(struct portal_groups *groups, const char *user,
					int64_t now_ms)
{
	struct known *place = find_place(groups, user);

	if (now_ms >= place->until_ms) {
		str_list_finish(&place->groups);
		groups->ask(user, &place->groups);
		place->until_ms = now_ms + PORTAL_GROUPS_MS;
	}
	return &place->groups;
}
