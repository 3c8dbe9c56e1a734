/*
 * Hadoop's configuration files: <configuration> of <property> with <name>, <value>, <final> (as
 * elements or attributes) and <xi:include href="FILE">, with <xi:fallback>. A document type
 * declaration is refused, so no entity is ever expanded and nothing but local files is read.
 *
 * <configuration job="ID"> is what that job had in effect (history/pack_config.c): there <source>
 * says where a value came from.
 */
#include <errno.h>
#include <libxml/parser.h>
#include <libxml/xmlerror.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "conf/conf_internal.h"

/* One file under way; `outer` includes it. */
struct source {
	struct conf *conf;
	enum conf_layer layer;
	const char *path;
	const struct source *outer;
	int depth;
	bool may_include;
	bool is_recorded; /* of a job */
	size_t *budget;	  /* bytes that may still be read, over all files */
	struct err *err;
};

struct property {
	char *name, *value, *origin;
	bool final;
	int line;
};

/* The first complaint of the parser: what follows is mostly its consequence. */
struct complaint {
	char *text;
	int line;
	bool has_doctype;
};

static void note_complaint(void *data, const xmlError *error)
{
	struct complaint *complaint = ((xmlParserCtxtPtr)data)->_private;

	if (complaint->text)
		return;
	size_t length = strcspn(error->message ? error->message : "malformed XML", "\n");
	complaint->text = str_printable(error->message ? error->message : "malformed XML", length);
	complaint->line = error->line;
}

static void refuse_doctype(void *data, const xmlChar *name, const xmlChar *public_id,
			   const xmlChar *system_id)
{
	xmlParserCtxtPtr parser = data;
	struct complaint *complaint = parser->_private;

	complaint->has_doctype = true;
	complaint->line = parser->input ? parser->input->line : 0;
	xmlStopParser(parser);
}

/* NULL and a filled complaint on any flaw. */
static xmlDocPtr parse(const char *bytes, size_t length, struct complaint *complaint)
{
	xmlParserCtxtPtr parser = xmlNewParserCtxt();

	if (!parser)
		abort();
	parser->_private = complaint;
	parser->sax->serror = (xmlStructuredErrorFunc)note_complaint;
	parser->sax->internalSubset = refuse_doctype;
	xmlDocPtr document = xmlCtxtReadMemory(parser, bytes, (int)length, NULL, NULL,
					       XML_PARSE_NONET | XML_PARSE_BIG_LINES);
	bool sound = parser->wellFormed && !complaint->has_doctype;
	xmlFreeParserCtxt(parser);
	if (document && !sound) {
		xmlFreeDoc(document);
		document = NULL;
	}
	return document;
}

static bool is_named(const xmlNode *node, const char *name)
{
	return str_equal((const char *)node->name, name);
}

static int line_of(const xmlNode *node)
{
	return (int)xmlGetLineNo(node);
}

static int fail(const struct source *source, const xmlNode *node, const char *text)
{
	return err_set(source->err, ERR_CONFIG, "%s:%d: %s", source->path, line_of(node), text);
}

static int fail_element(const struct source *source, const xmlNode *node, const char *parent,
			const char *expected)
{
	char *text cleanup_free =
		mem_printf("<%s> has no place in <%s>; write %s", node->name, parent, expected);

	return fail(source, node, text);
}

/* The text of an element without children; NULL and `err` when it has some. */
static char *read_text(const struct source *source, const xmlNode *element)
{
	struct str text = {0};

	for (const xmlNode *node = element->children; node; node = node->next) {
		if (node->type == XML_TEXT_NODE || node->type == XML_CDATA_SECTION_NODE) {
			str_append(&text, (const char *)node->content);
		} else if (node->type == XML_ELEMENT_NODE) {
			fail_element(source, node, (const char *)element->name,
				     "&lt; for a plain \"<\"");
			str_finish(&text);
			return NULL;
		}
	}
	return str_steal(&text);
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
static void read_attributes(const xmlNode *element, struct property *property)
{
	for (const xmlAttr *attribute = element->properties; attribute;
	     attribute = attribute->next) {
		xmlChar *text = xmlNodeGetContent((const xmlNode *)attribute);
		const char *name = (const char *)attribute->name;
		if (str_equal(name, "name"))
			mem_replace(&property->name, trimmed(mem_strdup((char *)text)));
		else if (str_equal(name, "value"))
			mem_replace(&property->value, mem_strdup((char *)text));
		else if (str_equal(name, "final"))
			property->final = str_equal_nocase((char *)text, "true");
		xmlFree(text);
	}
}

static int read_elements(const struct source *source, const xmlNode *element,
			 struct property *property)
{
	for (const xmlNode *node = element->children; node; node = node->next) {
		if (node->type != XML_ELEMENT_NODE)
			continue;
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
			property->line = line_of(node);
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
	const struct conf_place place = {source->layer, source->path, property->line};

	if (!property->value) {
		/* Hadoop passes over these. Of its own keys this is no business of ours. */
		if (str_starts_with(property->name, "tony."))
			problems_error(&source->conf->problems, PROBLEM_FILE,
				       "%s:%d: %s: has no <value>; write <value>...</value>",
				       source->path, property->line, property->name);
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

static int read_property(const struct source *source, const xmlNode *element)
{
	struct property property = {.line = line_of(element)};
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
static int read_children(const struct source *source, const xmlNode *parent);

static bool is_open(const struct source *source, const char *path)
{
	for (; source; source = source->outer)
		if (str_equal(source->path, path))
			return true;
	return false;
}

/* The file an <xi:include> names, against the directory of the file it stands in. */
static char *include_path(const struct source *source, const char *href)
{
	if (str_starts_with(href, "file:"))
		href += strlen("file:");
	if (str_starts_with(href, "///"))
		href += strlen("//");
	char *directory cleanup_free = fs_dirname(source->path);
	return str_equal(directory, ".") && *href != '/' ? mem_strdup(href)
							 : fs_join(directory, href);
}

static int read_included(const struct source *outer, const xmlNode *element, const char *path)
{
	size_t length;
	struct source source = *outer;

	if (is_open(outer, path))
		return fail(outer, element, "<include> goes in a circle; take it out");
	if (outer->depth >= CONF_INCLUDE_CAP)
		return fail(outer, element, "files are included more than 16 deep");
	char *bytes cleanup_free = fs_read_file(path, *outer->budget, &length, outer->err);
	if (!bytes)
		return err_wrap(outer->err, "%s:%d: <include>", outer->path, line_of(element));
	source.path = path;
	source.outer = outer;
	source.depth++;
	return read_document(&source, bytes, length);
}

static const xmlNode *find_fallback(const xmlNode *element)
{
	for (const xmlNode *node = element->children; node; node = node->next)
		if (node->type == XML_ELEMENT_NODE && is_named(node, "fallback"))
			return node;
	return NULL;
}

static int read_include(const struct source *source, const xmlNode *element)
{
	const xmlNode *fallback = find_fallback(element);
	xmlChar *attribute = xmlGetNoNsProp(element, (const xmlChar *)"href");
	char *href cleanup_free = mem_strdup((const char *)attribute);

	xmlFree(attribute);
	if (!source->may_include)
		return fail(source, element,
			    "<include> is for files of this machine; write what it names in its "
			    "place");
	if (!href || !*href)
		return fail(source, element, "<include> without href; write href=\"FILE\"");
	if (strstr(href, "://") && !str_starts_with(href, "file:///"))
		return fail(source, element,
			    "<include> reads local files only; write a path as href");
	if (xmlHasProp(element, (const xmlChar *)"xpointer"))
		problems_warning(&source->conf->problems,
				 "%s:%d: xpointer has no effect: the whole file is included",
				 source->path, line_of(element));
	char *path cleanup_free = include_path(source, href);
	if (fallback && !fs_exists(path))
		return read_children(source, fallback);
	return read_included(source, element, path);
}

static int read_children(const struct source *source, const xmlNode *parent)
{
	for (const xmlNode *node = parent->children; node; node = node->next) {
		if (node->type != XML_ELEMENT_NODE)
			continue;
		int result;
		if (is_named(node, "property"))
			result = read_property(source, node);
		else if (is_named(node, "include"))
			result = read_include(source, node);
		else
			result = fail_element(source, node, (const char *)parent->name,
					      "<property>");
		if (result < 0)
			return -1;
	}
	return 0;
}

static int fail_parse(const struct source *source, struct complaint *complaint)
{
	char *text cleanup_free = complaint->text;

	if (complaint->has_doctype)
		return err_set(source->err, ERR_CONFIG,
			       "%s:%d: a document type declaration is not allowed; take the "
			       "<!DOCTYPE> out",
			       source->path, complaint->line);
	return err_set(source->err, ERR_CONFIG, "%s:%d: not XML: %s", source->path, complaint->line,
		       text ? text : "malformed");
}

static int read_document(const struct source *source, const char *bytes, size_t length)
{
	struct complaint complaint = {0};

	*source->budget -= length;
	if (length == 0)
		return err_set(source->err, ERR_CONFIG,
			       "%s: is empty; write <configuration></configuration>", source->path);
	xmlDocPtr document = parse(bytes, length, &complaint);
	if (!document)
		return fail_parse(source, &complaint);
	free(complaint.text); /* a warning, such as a relative namespace */
	xmlNode *root = xmlDocGetRootElement(document);
	struct source whole = *source;
	whole.is_recorded =
		source->layer == CONF_LAYER_FILE && xmlHasProp(root, (const xmlChar *)"job");
	int result = is_named(root, "configuration")
			     ? read_children(&whole, root)
			     : fail_element(source, root, "the file", "<configuration> around all");
	xmlFreeDoc(document);
	return result;
}

int conf_read_xml(const struct conf_input *from, const char *bytes, size_t length, struct err *err)
{
	size_t budget = CONF_FILE_CAP;
	const struct source source = {
		.conf = from->conf,
		.layer = from->layer,
		.path = from->path,
		.may_include = from->may_include,
		.budget = &budget,
		.err = err,
	};

	return read_document(&source, bytes, length);
}
