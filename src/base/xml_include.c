#include "base/xml_include.h"

#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"

static int fail(const struct xml_file *file, const struct xml_node *element, const char *text,
		struct err *err)
{
	return err_set(err, ERR_CONFIG, "%s:%d: %s", file->path, element->line, text);
}

static int check_place(const struct xml_file *file, const struct xml_node *element,
		       const char *path, struct err *err)
{
	int depth = 0;

	for (const struct xml_file *open = file; open; open = open->outer, depth++)
		if (str_equal(open->path, path))
			return fail(file, element, "<include> goes in a circle; take it out", err);
	return depth <= XML_INCLUDE_CAP
		       ? 0
		       : fail(file, element, "files are included more than 16 deep", err);
}

/* The file an <include> names, against the directory of the file it stands in. */
static char *path_of(const struct xml_file *file, const char *href)
{
	if (str_starts_with(href, "file:"))
		href += strlen("file:");
	if (str_starts_with(href, "///"))
		href += strlen("//");
	char *directory cleanup_free = fs_dirname(file->path);
	return str_equal(directory, ".") && *href != '/' ? mem_strdup(href)
							 : fs_join(directory, href);
}

static const struct xml_node *find_fallback(const struct xml_node *element)
{
	for (const struct xml_node *node = element->children; node; node = node->next)
		if (str_equal(node->name, "fallback"))
			return node;
	return NULL;
}

int xml_include(const struct xml_file *file, const struct xml_node *element,
		struct xml_included *included, struct err *err)
{
	const char *href = xml_attribute(element, "href");
	const struct xml_node *fallback = find_fallback(element);

	if (!href || !*href)
		return fail(file, element, "<include> without href; write href=\"FILE\"", err);
	bool is_local = !strstr(href, "://") || str_starts_with(href, "file:///");
	included->path = is_local ? path_of(file, href) : NULL;
	if (fallback && (!is_local || !fs_exists(included->path))) {
		included->fallback = fallback;
		return 0;
	}
	if (!is_local)
		return fail(file, element, "<include> reads local files only; write a path as href",
			    err);
	if (check_place(file, element, included->path, err) < 0)
		return -1;
	included->bytes = fs_read_file(included->path, *file->budget, &included->length, err);
	if (!included->bytes)
		return err_wrap(err, "%s:%d: <include>", file->path, element->line);
	*file->budget -= included->length;
	included->file = (struct xml_file){included->path, file, file->budget};
	return 0;
}

void xml_included_finish(struct xml_included *included)
{
	free(included->path);
	free(included->bytes);
}
