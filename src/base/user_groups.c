/* Apart from user.c, of which tony-agent has a part: a static program has no name services. */
#include <grp.h>
#include <pwd.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/user.h"

char *user_name(void)
{
	static const char *const variables[] = {"USER", "LOGNAME"};
	bool is_known = getpwuid(geteuid()) != NULL;

	for (size_t i = 0; i < array_length(variables) && !is_known; i++) {
		const char *user = getenv(variables[i]);
		if (user && *user && !str_starts_with(user, "uid-") && !getpwnam(user))
			return mem_strdup(user);
	}
	return user_name_of(geteuid());
}

char *user_property(const char *name)
{
	if (str_equal(name, "user.name"))
		return user_name();
	return mem_strdup(str_equal(name, "user.home") ? getenv("HOME") : NULL);
}

int user_find(const char *name, uid_t *user)
{
	const struct passwd *entry = getpwnam(name);
	int64_t number;

	if (!entry && str_parse_int(name, 0, UINT32_MAX - 1, &number) < 0)
		return -1;
	*user = entry ? entry->pw_uid : (uid_t)number;
	return 0;
}

void user_groups(const char *user, struct str_list *groups)
{
	const struct passwd *entry = getpwnam(user);
	int count = 0;

	if (!entry)
		return;
	gid_t primary = entry->pw_gid;
	/* Says how many there are. */
	getgrouplist(user, primary, NULL, &count);
	gid_t *ids cleanup_free = mem_alloc_array((size_t)count, sizeof(*ids));
	if (getgrouplist(user, primary, ids, &count) < 0)
		return; /* there are more by now */
	for (int i = 0; i < count; i++) {
		const struct group *group = getgrgid(ids[i]);
		if (group)
			str_list_add(groups, group->gr_name);
	}
}
