#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "scheduler/yarn_internal.h"

/* Of the machines that an ask can use, at most one in so many is avoided: when many fail, it is not
 * they. */
#define AVOIDED_SHARE 3

enum {
	/* A job that waits for so long in vain gets an avoided machine back, one at a time and more
	 * and more rarely: a placement constraint, or the queue's label, may leave no other node.
	 * Where the nodes were counted, they are likelier busy. */
	FORGIVE_MS = 30000,
	FORGIVE_COUNTED = 10, /* times as long */
	FORGIVE_MOST_MS = 3600000,
};

static void forgive(struct yarn *yarn, const char *host)
{
	char *name cleanup_free = mem_strdup(host);
	char *text cleanup_free = mem_printf("%s is no longer avoided", name);
	struct str_list left = {0};

	log_info("%s", text);
	if (!TAILQ_EMPTY(&yarn->gangs))
		yarn->listener.noted(yarn->listener.data, text);
	application_master_avoid(yarn->master, name, false);
	for (size_t i = 0; i < yarn->avoided.count; i++)
		if (!str_equal(yarn->avoided.items[i], name))
			str_list_add(&left, yarn->avoided.items[i]);
	str_list_finish(&yarn->avoided);
	yarn->avoided = left;
}

static void forgive_for(struct yarn *yarn, size_t type)
{
	struct yarn_room room;
	const char *host;

	while (yarn->asked_count[type] > 0 && yarn_room_count(yarn, type, &room) &&
	       room.avoided > room.usable / AVOIDED_SHARE &&
	       (host = yarn_room_oldest_avoided(yarn, type)))
		forgive(yarn, host);
}

void yarn_avoid_fewer(struct yarn *yarn)
{
	while (yarn->node_count > 0 &&
	       (int64_t)yarn->avoided.count > yarn->node_count / AVOIDED_SHARE)
		forgive(yarn, yarn->avoided.items[0]);
	for (size_t i = 0; i < yarn->job->type_count && yarn->avoided.count > 0; i++)
		forgive_for(yarn, i);
}

/* Are the nodes known that each type which waits can use? */
static bool are_counted(const struct yarn *yarn)
{
	struct yarn_room room;

	for (size_t i = 0; i < yarn->job->type_count; i++)
		if (yarn->asked_count[i] > 0 &&
		    (yarn->placements[i] || !yarn_room_count(yarn, i, &room)))
			return false;
	return true;
}

void yarn_avoid_forgive(struct yarn *yarn)
{
	int64_t now = clock_monotonic_ms();
	int64_t since =
		yarn->forgiven_at > yarn->waits_since ? yarn->forgiven_at : yarn->waits_since;
	int64_t patience = yarn->forgive_ms * (are_counted(yarn) ? FORGIVE_COUNTED : 1);

	if (yarn->waits_since == 0 || yarn->avoided.count == 0 || now < since + patience)
		return;
	forgive(yarn, yarn->avoided.items[0]);
	yarn->forgiven_at = now;
	yarn->forgive_ms =
		yarn->forgive_ms < FORGIVE_MOST_MS / 2 ? yarn->forgive_ms * 2 : FORGIVE_MOST_MS;
}

void yarn_avoid(struct scheduler *scheduler, const char *host)
{
	struct yarn *yarn = (struct yarn *)scheduler;
	bool is_small = yarn->node_count > 0 && yarn->node_count < AVOIDED_SHARE;

	if (yarn->forgive_ms == 0)
		yarn->forgive_ms = FORGIVE_MS;
	if (is_small || str_list_has(&yarn->avoided, host))
		return;
	log_info("%s is avoided from now on", host);
	str_list_add(&yarn->avoided, host);
	application_master_avoid(yarn->master, host, true);
	yarn_avoid_fewer(yarn);
}
