#include "hadoop/site_value.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/user.h"

#define RESOLVE_CAP 20
#define VALUE_CAP   (1u << 20)

/* The first "${name}" without another one, a blank or "$" within; false: there is none. */
static bool find_variable(const char *text, size_t *start, size_t *end)
{
	for (const char *open = strstr(text, "${"); open; open = strstr(open + 2, "${")) {
		size_t length = strcspn(open + 2, "}$ \t\r\n");
		if (length == 0 || open[2 + length] != '}')
			continue;
		*start = (size_t)(open - text);
		*end = *start + 2 + length + 1;
		return true;
	}
	return false;
}

/* Java's system properties come before keys of that name. */
static char *system_value(const char *name)
{
	return str_equal(name, "java.io.tmpdir") ? mem_strdup("/tmp") : user_property(name);
}

char *site_value_resolve(const char *raw, const char *(*find)(const void *data, const char *key),
			 const void *data)
{
	char *text = mem_strdup(raw);
	size_t start, end;

	for (int i = 0; i < RESOLVE_CAP && find_variable(text, &start, &end); i++) {
		char *name cleanup_free = mem_strndup(text + start + 2, end - start - 3);
		bool is_environment = str_starts_with(name, "env.");
		char *value cleanup_free = is_environment ? str_environment(name + strlen("env."))
							  : system_value(name);
		if (!value && !is_environment)
			value = mem_strdup(find(data, name));
		if (!value || strlen(text) + strlen(value) > VALUE_CAP)
			break;
		mem_replace(&text, mem_printf("%.*s%s%s", (int)start, text, value, text + end));
	}
	return text;
}
