#include "conf/resource.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define ARCHIVE_MARK "#archive"

/* "hdfs://host/path" -> 4; 0 when there is no scheme. */
static size_t scheme_length(const char *source)
{
	size_t length = strspn(source, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				       "0123456789+.-");

	return isalpha((unsigned char)source[0]) && str_starts_with(source + length, ":/") ? length
											   : 0;
}

/* "file:///a" and "file:/a" are the path /a. */
static char *local_path(const char *source)
{
	const char *path = source + strlen("file:");

	return mem_strdup(str_starts_with(path, "//") ? path + 2 : path);
}

static char *last_part(const char *source)
{
	size_t end = strlen(source);

	while (end > 1 && source[end - 1] == '/')
		end--;
	size_t start = end;
	while (start > 0 && source[start - 1] != '/')
		start--;
	return mem_strndup(source + start, end - start);
}

static bool is_safe_name(const char *name)
{
	struct str_list parts cleanup_str_list = {0};

	if (!*name || *name == '/')
		return false;
	str_split(&parts, name, '/');
	for (size_t i = 0; i < parts.count; i++)
		if (str_equal(parts.items[i], "..") || str_equal(parts.items[i], "."))
			return false;
	return parts.count > 0;
}

static int split_name(const char *text, char *rest, struct resource_spec *spec, struct err *err)
{
	char *mark = strstr(rest, "::");

	if (!mark)
		return 0;
	if (strstr(mark + 2, "::"))
		return err_set(err, ERR_CONFIG,
			       "\"%s\" has more than one \"::\"; write SOURCE[::NAME][#archive]",
			       text);
	*mark = '\0';
	spec->name = mem_strdup(mark + 2);
	return 0;
}

static void set_source(struct resource_spec *spec, const char *source)
{
	size_t scheme = scheme_length(source);

	if (scheme == strlen("file") && strncasecmp(source, "file", scheme) == 0) {
		spec->source = local_path(source);
		return;
	}
	spec->remote = scheme > 0;
	spec->source = mem_strdup(source);
}

int resource_parse(const char *text, struct resource_spec *spec, struct err *err)
{
	char *rest cleanup_free = mem_strdup(text);
	size_t length = strlen(rest), mark = strlen(ARCHIVE_MARK);

	if (length >= mark && strcasecmp(rest + length - mark, ARCHIVE_MARK) == 0) {
		spec->archive = true;
		rest[length - mark] = '\0';
	}
	if (split_name(text, rest, spec, err) < 0)
		goto fail;
	set_source(spec, rest);
	if (!*spec->source) {
		err_set(err, ERR_CONFIG, "\"%s\" names no file; write SOURCE[::NAME][#archive]",
			text);
		goto fail;
	}
	/* "." and ".." stand for directories whose own name only the file system knows. */
	if (!spec->name)
		spec->name = last_part(spec->source);
	if (!is_safe_name(spec->name)) {
		err_set(err, ERR_CONFIG,
			"\"%s\" would appear as \"%s\", outside the working directory; write "
			"SOURCE::NAME with a relative name",
			text, spec->name);
		goto fail;
	}
	return 0;
fail:
	resource_finish(spec);
	return -1;
}

void resource_finish(struct resource_spec *spec)
{
	free(spec->source);
	free(spec->name);
	*spec = (struct resource_spec){0};
}

void resource_list_take(struct resource_list *list, struct resource_spec *spec)
{
	list->items = mem_realloc_array(list->items, list->count + 1, sizeof(*list->items));
	list->items[list->count++] = *spec;
	*spec = (struct resource_spec){0};
}

void resource_list_finish(struct resource_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		resource_finish(&list->items[i]);
	free(list->items);
	*list = (struct resource_list){0};
}
