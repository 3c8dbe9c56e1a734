#include "web/cookie.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

char *web_cookie_find(const char *cookies, const char *name)
{
	struct str_list pairs cleanup_str_list = {0};
	size_t length = strlen(name);

	str_split(&pairs, cookies ? cookies : "", ';');
	for (size_t i = 0; i < pairs.count; i++) {
		const char *pair = pairs.items[i];
		if (strncmp(pair, name, length) == 0 && pair[length] == '=')
			return mem_strdup(pair + length + 1);
	}
	return NULL;
}

char *web_cookie_without(const char *cookies, const char *prefix)
{
	struct str_list pairs cleanup_str_list = {0};
	struct str_list left cleanup_str_list = {0};

	str_split(&pairs, cookies, ';');
	for (size_t i = 0; i < pairs.count; i++)
		if (!str_starts_with(pairs.items[i], prefix))
			str_list_add(&left, pairs.items[i]);
	return left.count > 0 ? str_list_join(&left, "; ") : NULL;
}
