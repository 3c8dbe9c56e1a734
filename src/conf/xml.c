/*
 * Hadoop's configuration files: <configuration> of <property> with <name>, <value>, <final> (as
 * elements or attributes) and <xi:include href="FILE">, with <xi:fallback>. A document type
 * declaration is refused, so no entity is ever expanded and nothing but local files is read.
 *
 * <configuration job="ID"> is what that job had in effect (history/pack_config.c): there <source>
 * says where a value came from.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/xml_include.h"
#include "conf/conf_internal.h"

struct source {
	struct xml_file file;
	struct conf *conf;
	enum conf_layer layer;
	bool may_include;
	bool is_recorded; /* of a job */
	struct err *err;
};

struct property {
	char *name, *value, *origin;
	bool final;
	int line;
};

static bool is_named(const struct xml_node *node, const char *name)
{
	return str_equal(node->name, name);
}

static int fail(const struct source *source, const struct xml_node *node, const char *text)
{
	return err_set(source->err, ERR_CONFIG, "%s:%d: %s", source->file.path, node->line, text);
}

static int fail_element(const struct source *source, const struct xml_node *node,
			const char *parent, const char *expected)
{
	char *text cleanup_free =
		mem_printf("<%s> has no place in <%s>; write %s", node->name, parent, expected);

	return fail(source, node, text);
}

/* The text of an element without children; NULL and `err` when it has some. */
static char *read_text(const struct source *source, const struct xml_node *element)
{
	if (!element->children)
		return mem_strdup(str_text(&element->text));
	fail_element(source, element->children, element->name, "&lt; for a plain \"<\"");
	return NULL;
}

static char *trimmed(char *text)
{
	static const char blanks[] = " \t\r\n";
	size_t start = strspn(text, blanks), end = strlen(text);

	while (end > start && strchr(blanks, text[end - 1]))
		end--;
	char *copy = mem_strndup(text + start, end - start);
	free(text);
	return copy;
}

static void property_finish(struct property *property)
{
	free(property->name);
	free(property->value);
	free(property->origin);
}

/* Hadoop 3 also writes <property name="" value="" final=""/>. */
static void read_attributes(const struct xml_node *element, struct property *property)
{
	const char *name = xml_attribute(element, "name"), *value = xml_attribute(element, "value");

	property->name = name ? trimmed(mem_strdup(name)) : NULL;
	property->value = mem_strdup(value);
	property->final = str_equal_nocase(xml_attribute(element, "final"), "true");
}

static int read_elements(const struct source *source, const struct xml_node *element,
			 struct property *property)
{
	for (const struct xml_node *node = element->children; node; node = node->next) {
		bool is_name = is_named(node, "name"), is_value = is_named(node, "value");
		bool is_origin = source->is_recorded && is_named(node, "source");
		if (!is_name && !is_value && !is_origin && !is_named(node, "final"))
			continue; /* <description>, <tag> ... */
		char *text = read_text(source, node);
		if (!text)
			return -1;
		if (is_name) {
			mem_replace(&property->name, trimmed(text));
		} else if (is_value) {
			mem_replace(&property->value, text);
			property->line = node->line;
		} else if (is_origin) {
			mem_replace(&property->origin, trimmed(text));
		} else {
			char *word cleanup_free = trimmed(text);
			property->final = str_equal_nocase(word, "true");
		}
	}
	return 0;
}

static void store(const struct source *source, const struct property *property)
{
	const struct conf_place place = {source->layer, source->file.path, property->line};

	if (!property->value) {
		/* Hadoop passes over these. Of its own keys this is no business of ours. */
		if (str_starts_with(property->name, "tony."))
			problems_error(&source->conf->problems, PROBLEM_FILE,
				       "%s:%d: %s: has no <value>; write <value>...</value>",
				       source->file.path, property->line, property->name);
		return;
	}
	if (source->is_recorded) {
		conf_set_recorded(source->conf, &place, property->origin ? property->origin : "",
				  property->name, property->value);
		return;
	}
	conf_set(source->conf, &place, property->name, property->value);
	if (property->final)
		conf_set_final(source->conf, &place, property->name);
}

static int read_property(const struct source *source, const struct xml_node *element)
{
	struct property property = {.line = element->line};
	int result = -1;

	read_attributes(element, &property);
	if (read_elements(source, element, &property) < 0)
		goto out;
	if (!property.name || !*property.name) {
		fail(source, element, "<property> without a <name>; write <name>tony....</name>");
		goto out;
	}
	store(source, &property);
	result = 0;
out:
	property_finish(&property);
	return result;
}

static int read_document(const struct source *source, const char *bytes, size_t length);
static int read_children(const struct source *source, const struct xml_node *parent);

static int read_include(const struct source *source, const struct xml_node *element)
{
	struct xml_included included cleanup_xml_included = {0};
	struct source inner = *source;

	if (!source->may_include)
		return fail(source, element,
			    "<include> is for files of this machine; write what it names in its "
			    "place");
	if (xml_include(&source->file, element, &included, source->err) < 0)
		return -1;
	if (xml_attribute(element, "xpointer"))
		problems_warning(&source->conf->problems,
				 "%s:%d: xpointer has no effect: the whole file is included",
				 source->file.path, element->line);
	if (included.fallback)
		return read_children(source, included.fallback);
	inner.file = included.file;
	return read_document(&inner, included.bytes, included.length);
}

static int read_children(const struct source *source, const struct xml_node *parent)
{
	for (const struct xml_node *node = parent->children; node; node = node->next) {
		int result;
		if (is_named(node, "property"))
			result = read_property(source, node);
		else if (is_named(node, "include"))
			result = read_include(source, node);
		else
			result = fail_element(source, node, parent->name, "<property>");
		if (result < 0)
			return -1;
	}
	return 0;
}

static int read_document(const struct source *source, const char *bytes, size_t length)
{
	struct xml_flaw flaw = {0};

	if (length == 0)
		return err_set(source->err, ERR_CONFIG,
			       "%s: is empty; write <configuration></configuration>",
			       source->file.path);
	struct xml_node *root = xml_parse(bytes, length, XML_DOCTYPE_REFUSED, &flaw);
	if (!root) {
		char *text cleanup_free = flaw.text;
		return err_set(source->err, ERR_CONFIG, "%s:%d: %s%s", source->file.path, flaw.line,
			       flaw.is_doctype ? "" : "not XML: ", text);
	}
	struct source whole = *source;
	whole.is_recorded = source->layer == CONF_LAYER_FILE && xml_attribute(root, "job");
	int result = is_named(root, "configuration") ? read_children(&whole, root)
		     : is_named(root, "pipeline")
			     ? fail(source, root, "a pipeline, which is not one job: tony run FILE")
			     : fail(source, root, "no job file; write <configuration> around all");
	xml_free(root);
	return result;
}

int conf_read_xml(const struct conf_input *from, const char *bytes, size_t length, struct err *err)
{
	size_t budget = CONF_FILE_CAP - length;
	const struct source source = {
		.file = {.path = from->path, .budget = &budget},
		.conf = from->conf,
		.layer = from->layer,
		.may_include = from->may_include,
		.err = err,
	};

	return read_document(&source, bytes, length);
}

int conf_load_properties(struct conf *conf, const char *path, const struct xml_node *parent,
			 struct err *err)
{
	size_t budget = CONF_FILE_CAP;
	const struct source source = {
		.file = {.path = path, .budget = &budget},
		.conf = conf,
		.layer = CONF_LAYER_FILE,
		.may_include = true,
		.err = err,
	};

	return read_children(&source, parent);
}
