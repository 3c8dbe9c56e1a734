#include "client/archive_name.h"

#include <limits.h>
#include <string.h>

#include "base/mem.h"

enum { DEPTH_CAP = 128 };

/* The next component at *cursor, or NULL at the end; *length is its length. */
static const char *next_component(const char **cursor, size_t *length)
{
	const char *start = *cursor + strspn(*cursor, "/");

	*length = strcspn(start, "/");
	*cursor = start + *length;
	return *length > 0 ? start : NULL;
}

static bool is(const char *start, size_t length, const char *what)
{
	return strlen(what) == length && memcmp(start, what, length) == 0;
}

const char *archive_name_split(const char *name, struct str_list *components)
{
	const char *cursor = name, *start;
	size_t length;

	if (!*name)
		return "has no name";
	if (*name == '/')
		return "has an absolute name";
	if (strlen(name) >= PATH_MAX)
		return "has a name longer than the system's limit";
	while ((start = next_component(&cursor, &length))) {
		if (is(start, length, "."))
			continue;
		if (is(start, length, ".."))
			return "leads out of the archive with \"..\"";
		if (length > NAME_MAX)
			return "has a name longer than the system's limit";
		if (components->count == DEPTH_CAP)
			return "is nested deeper than 128 directories";
		str_list_take(components, mem_strndup(start, length));
	}
	return NULL;
}

static bool is_system_python(const char *target)
{
	static const char *const directories[] = {"/usr/bin/", "/usr/local/bin/"};

	for (size_t i = 0; i < array_length(directories); i++) {
		if (!str_starts_with(target, directories[i]))
			continue;
		const char *name = target + strlen(directories[i]);
		return str_starts_with(name, "python") && !strchr(name, '/');
	}
	return false;
}

bool archive_link_stays(const char *target, size_t depth)
{
	const char *cursor = target, *start;
	size_t length;
	bool going_up = true;

	if (*target == '/')
		return is_system_python(target);
	if (!*target || strlen(target) >= PATH_MAX)
		return false;
	while ((start = next_component(&cursor, &length))) {
		if (is(start, length, "."))
			continue;
		if (!is(start, length, "..")) {
			going_up = false;
			continue;
		}
		/* After a name that may itself be a link, ".." is anywhere. */
		if (!going_up || depth-- == 0)
			return false;
	}
	return true;
}

locale_t archive_names_begin(locale_t *utf8)
{
	*utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	return uselocale(*utf8);
}

void archive_names_end(locale_t before, locale_t utf8)
{
	uselocale(before);
	if (utf8)
		freelocale(utf8);
}
