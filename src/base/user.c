#include "base/user.h"

#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

char *user_name_of(uid_t user)
{
	const struct passwd *entry = getpwuid(user);

	return entry ? mem_strdup(entry->pw_name) : mem_printf("uid-%u", (unsigned)user);
}

char *user_name(void)
{
	static const char *const variables[] = {"USER", "LOGNAME"};

	for (size_t i = 0; i < array_length(variables); i++) {
		const char *user = getenv(variables[i]);
		if (user && *user)
			return mem_strdup(user);
	}
	return user_name_of(geteuid());
}

bool user_group_is_private(uid_t user, gid_t group)
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
