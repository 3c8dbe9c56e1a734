/* "USER\nGROUPS\nACL": nobody is let in whom the list does not name, and the owner always is. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/acl.h"
#include "base/mem.h"

/* As a word of its own: names are between commas and blanks. */
static bool has_word(const char *acl, const char *word)
{
	size_t length = strlen(word);

	for (const char *found = acl; *word && (found = strstr(found, word)); found++)
		if ((found == acl || strchr(", \t\n\v\f\r", found[-1])) &&
		    strchr(", \t\n\v\f\r", found[length]))
			return true;
	return false;
}

static void check(const char *user, const char *groups, const char *acl)
{
	struct acl_user viewer = {.name = user};
	bool named = false;

	str_split(&viewer.groups, groups, ',');
	named = has_word(acl, user);
	for (size_t i = 0; i < viewer.groups.count; i++)
		named = named || has_word(acl, viewer.groups.items[i]);
	if (acl_names(acl, &viewer) && (!*user || (!named && !strchr(acl, '*'))))
		abort();
	if (*user && !acl_allows(&(struct acl_rule){user, acl, acl}, &viewer))
		abort();
	if (acl_check(acl, NULL) == 0 && strchr(acl, '*') && *user && !acl_names(acl, &viewer))
		abort();
	str_list_finish(&viewer.groups);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	char *text cleanup_free = mem_strndup((const char *)bytes, length);
	char *groups = strchr(text, '\n'), *acl = groups ? strchr(groups + 1, '\n') : NULL;

	if (!acl)
		return 0;
	*groups = *acl = '\0';
	check(text, groups + 1, acl + 1);
	return 0;
}
