/*
 * Access control lists as Hadoop writes them: "alice,bob ml-team,ops" are two users and two groups,
 * " ml-team" a group alone, "*" is everybody, "" and " " are nobody. Names are told apart by the
 * case of their letters.
 */
#ifndef TONY_BASE_ACL_H
#define TONY_BASE_ACL_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

struct acl_user {
	const char *name;	/* NULL or "": not known, which is nobody */
	struct str_list groups; /* none: they are not known */
};

/* Of one job, and one right to it. NULL: nobody. */
struct acl_rule {
	const char *owner;
	const char *acl;
	const char *administrators; /* an ACL, too */
};

/* The owner, an administrator, or whom the ACL names. */
bool acl_allows(const struct acl_rule *rule, const struct acl_user *user);

/* Whether the ACL itself names the user; NULL names nobody. */
bool acl_names(const char *acl, const struct acl_user *user);

/* Whether the ACL names groups; NULL does not. */
bool acl_has_groups(const char *acl);

/* Whether the ACL means what it looks like: "alice, bob" is a user and a group to Hadoop. The error
 * is a phrase that begins with the quoted value. */
int acl_check(const char *acl, struct err *err);

#endif
