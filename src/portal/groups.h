/*
 * The users whom a proxy names, and the groups that this machine knows of them. Its name services
 * may be slow (LDAP): they are asked about a user once in a minute at most.
 */
#ifndef TONY_PORTAL_GROUPS_H
#define TONY_PORTAL_GROUPS_H

#include <stdint.h>

#include "base/str.h"

enum { PORTAL_GROUPS_MS = 60 * 1000, PORTAL_GROUPS_USERS_MAX = 256 };

struct portal_groups;

/* `ask` finds the groups of a user: user_groups(). */
struct portal_groups *portal_groups_create(void (*ask)(const char *user, struct str_list *groups));
void portal_groups_destroy(struct portal_groups *groups); /* NULL is fine */

/* Good until the next call. `now_ms` is monotonic. */
const struct str_list *portal_groups_of(struct portal_groups *groups, const char *user,
					int64_t now_ms);

#endif
