/* Who runs this process. */
#ifndef TONY_BASE_USER_H
#define TONY_BASE_USER_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/str.h"

/* The name of the process's user on this machine. A user whom the name services do not know is
 * called by $USER, else $LOGNAME, where that is no other user's name, else "uid-0": the name of a
 * job's user and no proof. The caller frees. A static program cannot ask all of them: for `tony`
 * only. */
char *user_name(void);
/* A system property of Java's that site files use, "user.name" or "user.home"; NULL: another one.
 * The caller frees. For `tony` only, too. */
char *user_property(const char *name);

/* The name of a user on this machine, else "uid-0". The caller frees. */
char *user_name_of(uid_t user);

/* The uid of a name, or of a uid that is written out; -1: this machine knows no such user. Asks the
 * name services, too. */
int user_find(const char *name, uid_t *user);

/* Whether the kernel tells this process of that user by a uid of its own: in a user namespace all
 * who have none there seem to be one user, "nobody". */
bool user_is_told_apart(uid_t user);

/* Appends the names of the groups that this machine has the user in, his primary one first; none of
 * a user whom it does not know. Asks the name services, too. */
void user_groups(const char *user, struct str_list *groups);

/* Whether this owner is the process's user or root. Not told apart (above) are root and others in a
 * user namespace without root's uid, as rootless containers are: "nobody" is not trusted there. */
bool user_is_trusted(uid_t owner);

/* How chmod takes from others the right to write to what is at `path`: "go-w" or "o-w"; NULL: only
 * its owner has it, or his private group: the primary one, named as he is, without other members,
 * by which he writes with a umask of 002. With an ACL each group counts. Asks the name services,
 * too. */
const char *user_write_remedy(const char *path, const struct stat *status);

/* The same of a directory, for others to replace what is in it: in a sticky one they cannot, but
 * its owner can. */
const char *user_replace_remedy(const char *path, const struct stat *status);

#endif
