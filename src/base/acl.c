#include "base/acl.h"

#include <string.h>

#include "base/mem.h"

static bool is_everybody(const char *acl)
{
	return acl[strspn(acl, " ")] == '*' && acl[strspn(acl, " *")] == '\0' &&
	       strchr(acl, '*') == strrchr(acl, '*');
}

static bool has_any(const struct str_list *wanted, const struct str_list *groups)
{
	for (size_t i = 0; i < groups->count; i++)
		if (str_list_has(wanted, groups->items[i]))
			return true;
	return false;
}

bool acl_names(const char *acl, const struct acl_user *user)
{
	struct str_list users cleanup_str_list = {0}, groups cleanup_str_list = {0};

	if (!acl || !user->name || !*user->name)
		return false;
	if (is_everybody(acl))
		return true;
	size_t length = strcspn(acl, " ");
	char *names cleanup_free = mem_strndup(acl, length);
	str_split(&users, names, ',');
	str_split(&groups, acl + length, ',');
	return str_list_has(&users, user->name) || has_any(&groups, &user->groups);
}

bool acl_has_groups(const char *acl)
{
	const char *blank = acl && !is_everybody(acl) ? strchr(acl, ' ') : NULL;

	return blank && blank[strspn(blank, " ")];
}

bool acl_allows(const struct acl_rule *rule, const struct acl_user *user)
{
	if (!user->name || !*user->name)
		return false;
	return str_equal(rule->owner, user->name) || acl_names(rule->acl, user) ||
	       acl_names(rule->administrators, user);
}

int acl_check(const char *acl, struct err *err)
{
	const char *blank = strchr(acl, ' ');

	if (is_everybody(acl))
		return 0;
	if (strchr(acl, '*'))
		return err_set(err, ERR_CONFIG,
			       "\"%s\" has a \"*\" beside names; write \"*\" alone for everybody",
			       acl);
	if (acl[strcspn(acl, "\t\r\n")] || (blank && strchr(blank + 1, ' ')))
		return err_set(err, ERR_CONFIG,
			       "\"%s\" has more than one blank; write the users, one blank and the "
			       "groups, with commas between names, as \"alice,bob ml-team\"",
			       acl);
	if (blank && blank > acl && blank[-1] == ',')
		return err_set(err, ERR_CONFIG,
			       "\"%s\" has a blank behind a comma, and groups stand behind the "
			       "blank; write \"alice,bob\" for two users",
			       acl);
	return 0;
}
