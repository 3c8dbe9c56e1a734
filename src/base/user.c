#include "base/user.h"

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
