/*
 * The groups that this node has users in, as its program `id` tells: the agent is a static program,
 * and has no name services of its own (base/user.h).
 */
#ifndef TONY_AM_GROUP_FINDER_H
#define TONY_AM_GROUP_FINDER_H

#include "base/str.h"

struct event_base;

/* An `id` that does not answer within this time is ended: its user has no groups. */
enum { GROUP_FINDER_PATIENCE_MS = 10 * 1000 };

struct group_finder;

/* `found` is told from the loop, and may take the groups: none of a user whom the node does not
 * know. */
struct group_finder *group_finder_create(struct event_base *base,
					 void (*found)(void *data, const char *user,
						       struct str_list *groups),
					 void *data);
void group_finder_destroy(struct group_finder *finder); /* NULL is fine */

void group_finder_ask(struct group_finder *finder, const char *user);

#endif
