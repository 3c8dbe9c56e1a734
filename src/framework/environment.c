#include "framework/environment.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

/* The entry of `key` (of `length` letters), or count when there is none. */
static size_t find(const struct environment *environment, const char *key, size_t length)
{
	const struct str_list *entries = &environment->entries;
	size_t i = 0;

	while (i < entries->count &&
	       !(strncmp(entries->items[i], key, length) == 0 && entries->items[i][length] == '='))
		i++;
	return i;
}

static void put(struct environment *environment, char *pair, size_t key_length)
{
	size_t at = find(environment, pair, key_length);

	if (at < environment->entries.count)
		mem_replace(&environment->entries.items[at], pair);
	else
		str_list_take(&environment->entries, pair);
}

void environment_set(struct environment *environment, const char *key, const char *value)
{
	put(environment, mem_printf("%s=%s", key, value), strlen(key));
}

void environment_set_format(struct environment *environment, const char *key, const char *format,
			    ...)
{
	va_list args;

	va_start(args, format);
	char *value cleanup_free = mem_vprintf(format, args);
	va_end(args);
	environment_set(environment, key, value);
}

void environment_set_pair(struct environment *environment, const char *pair)
{
	size_t length = strcspn(pair, "=");

	/* TonY takes a bare KEY as one with an empty value. */
	put(environment, pair[length] ? mem_strdup(pair) : mem_printf("%s=", pair), length);
}

void environment_inherit(struct environment *environment)
{
	for (char **pair = environ; *pair; pair++)
		environment_set_pair(environment, *pair);
}

void environment_remove(struct environment *environment, const char *key)
{
	struct str_list *entries = &environment->entries;
	size_t at = find(environment, key, strlen(key));

	if (at == entries->count)
		return;
	free(entries->items[at]);
	memmove(entries->items + at, entries->items + at + 1,
		(entries->count - at) * sizeof(*entries->items)); /* with the NULL at the end */
	entries->count--;
}

const char *environment_get(const struct environment *environment, const char *key)
{
	size_t length = strlen(key);
	size_t at = find(environment, key, length);

	return at < environment->entries.count ? environment->entries.items[at] + length + 1 : NULL;
}

void environment_finish(struct environment *environment)
{
	str_list_finish(&environment->entries);
}
