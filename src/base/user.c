#include "base/user.h"

#include <grp.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

enum { NOBODY = 65534 }; /* where the kernel does not say */

char *user_name_of(uid_t user)
{
	const struct passwd *entry = getpwuid(user);

	return entry ? mem_strdup(entry->pw_name) : mem_printf("uid-%u", (unsigned)user);
}

static bool is_private_group(uid_t user, gid_t group)
{
	const struct passwd *owner = getpwuid(user);

	if (!owner || owner->pw_gid != group)
		return false;
	const struct group *entry = getgrgid(group);
	if (!entry || !str_equal(entry->gr_name, owner->pw_name))
		return false;
	for (char **member = entry->gr_mem; *member; member++)
		if (!str_equal(*member, owner->pw_name))
			return false;
	return true;
}

/* Whether the namespace of this process has a uid for this user. *has_all: for each user. */
static bool has_uid(uid_t user, bool *has_all)
{
	FILE *map cleanup_file = fopen("/proc/self/uid_map", "re");
	unsigned inside, outside, count;
	bool is_mapped = !map; /* a kernel without user namespaces */

	*has_all = !map;
	while (map && fscanf(map, "%u %u %u", &inside, &outside, &count) == 3) {
		*has_all = *has_all || count == UINT32_MAX;
		is_mapped = is_mapped || user - inside < count;
	}
	return is_mapped;
}

/* As the kernel calls users who are not mapped. */
static bool is_nobody(uid_t user)
{
	FILE *file cleanup_file = fopen("/proc/sys/kernel/overflowuid", "re");
	unsigned nobody;

	return user == (file && fscanf(file, "%u", &nobody) == 1 ? nobody : NOBODY);
}

bool user_is_told_apart(uid_t user)
{
	bool has_all, is_mapped = has_uid(user, &has_all);

	return has_all || (is_mapped && !is_nobody(user));
}

bool user_is_trusted(uid_t owner)
{
	return owner == geteuid() || owner == 0;
}

/* An ACL that names users or groups: its mask stands where the group's bits do. */
static bool has_acl(const char *path)
{
	return getxattr(path, "system.posix_acl_access", NULL, 0) >= 0;
}

const char *user_write_remedy(const char *path, const struct stat *status)
{
	if ((status->st_mode & S_IWGRP) &&
	    (has_acl(path) || !is_private_group(status->st_uid, status->st_gid)))
		return "go-w";
	return status->st_mode & S_IWOTH ? "o-w" : NULL;
}

const char *user_replace_remedy(const char *path, const struct stat *status)
{
	return status->st_mode & S_ISVTX ? NULL : user_write_remedy(path, status);
}
