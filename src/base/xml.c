#include "base/xml.h"

#include <expat.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct parse {
	XML_Parser parser;
	struct xml_node *root, *open;
	int depth, count;
	struct xml_flaw *flaw;
};

static int line_of(const struct parse *parse)
{
	return (int)XML_GetCurrentLineNumber(parse->parser);
}

static void refuse(struct parse *parse, const char *text)
{
	if (parse->flaw->text)
		return;
	parse->flaw->text = mem_strdup(text);
	parse->flaw->line = line_of(parse);
	XML_StopParser(parse->parser, XML_FALSE);
}

static char **copy_attributes(const char **attributes)
{
	size_t count = 0;

	while (attributes[count])
		count++;
	if (count == 0)
		return NULL;
	char **copy = mem_alloc_array(count + 1, sizeof(*copy));
	for (size_t i = 0; i < count; i++)
		copy[i] = mem_strdup(attributes[i]);
	return copy;
}

static void on_start(void *data, const char *tag, const char **attributes)
{
	struct parse *parse = data;
	struct xml_node *parent = parse->open;

	if (parse->flaw->text)
		return;
	if (++parse->depth > XML_DEPTH_CAP) {
		refuse(parse, "elements stand too deep in each other");
		return;
	}
	if (++parse->count > XML_ELEMENTS_CAP) {
		refuse(parse, "it has too many elements");
		return;
	}
	struct xml_node *node = mem_alloc(sizeof(*node));
	node->tag = mem_strdup(tag);
	const char *colon = strrchr(node->tag, ':');
	node->name = colon ? colon + 1 : node->tag;
	node->line = line_of(parse);
	node->attributes = copy_attributes(attributes);
	node->parent = parent;
	if (!parent)
		parse->root = node;
	else if (parent->last)
		parent->last->next = node;
	else
		parent->children = node;
	if (parent)
		parent->last = node;
	parse->open = node;
}

static void on_end(void *data, const char *tag)
{
	struct parse *parse = data;

	if (parse->flaw->text)
		return;
	parse->open = parse->open->parent;
	parse->depth--;
}

static void on_text(void *data, const char *text, int length)
{
	struct xml_node *open = ((struct parse *)data)->open;

	str_append_bytes(open->last ? &open->last->tail : &open->text, text, (size_t)length);
}

static void on_doctype(void *data, const char *name, const char *system_id, const char *public_id,
		       int has_internal_subset)
{
	struct parse *parse = data;

	parse->flaw->is_doctype = true;
	refuse(parse, "a document type declaration is not allowed; take the <!DOCTYPE> out");
}

static void on_entity(void *data, const char *name, int is_parameter, const char *value, int length,
		      const char *base, const char *system_id, const char *public_id,
		      const char *notation)
{
	refuse(data, "a declaration of an entity is not allowed; take the <!ENTITY> out");
}

/* The external DTD, which is not read, may declare this entity. */
static void on_skipped_entity(void *data, const char *name, int is_parameter)
{
	if (!is_parameter)
		refuse(data, "an entity that is not declared here");
}

static void note_error(struct parse *parse)
{
	enum XML_Error error = XML_GetErrorCode(parse->parser);
	const struct xml_node *open = parse->open;
	const char *words = XML_ErrorString(error);

	if (parse->flaw->text)
		return;
	parse->flaw->line = line_of(parse);
	if (open && (error == XML_ERROR_TAG_MISMATCH || error == XML_ERROR_NO_ELEMENTS)) {
		char *text cleanup_free =
			mem_printf("%s: <%s> of line %d is not closed",
				   error == XML_ERROR_TAG_MISMATCH ? words : "ends too early",
				   open->tag, open->line);
		parse->flaw->text = str_printable(text, strlen(text));
		return;
	}
	parse->flaw->text = mem_strdup(words ? words : "malformed XML");
}

struct xml_node *xml_parse(const char *bytes, size_t length, enum xml_doctype doctype,
			   struct xml_flaw *flaw)
{
	struct parse parse = {.parser = XML_ParserCreate(NULL), .flaw = flaw};

	if (!parse.parser)
		abort();
	XML_SetUserData(parse.parser, &parse);
	XML_SetElementHandler(parse.parser, on_start, on_end);
	XML_SetCharacterDataHandler(parse.parser, on_text);
	XML_SetEntityDeclHandler(parse.parser, on_entity);
	XML_SetSkippedEntityHandler(parse.parser, on_skipped_entity);
	if (doctype == XML_DOCTYPE_REFUSED)
		XML_SetStartDoctypeDeclHandler(parse.parser, on_doctype);
	if (XML_Parse(parse.parser, bytes, (int)length, XML_TRUE) != XML_STATUS_OK)
		note_error(&parse);
	XML_ParserFree(parse.parser);
	if (!flaw->text)
		return parse.root;
	xml_free(parse.root);
	return NULL;
}

void xml_free(struct xml_node *root)
{
	if (!root)
		return;
	for (struct xml_node *node = root->children, *next; node; node = next) {
		next = node->next;
		xml_free(node);
	}
	for (char **text = root->attributes; text && *text; text++)
		free(*text);
	free(root->attributes);
	str_finish(&root->text);
	str_finish(&root->tail);
	free(root->tag);
	free(root);
}

const char *xml_attribute(const struct xml_node *node, const char *name)
{
	for (char **pair = node->attributes; pair && *pair; pair += 2)
		if (str_equal(pair[0], name))
			return pair[1];
	return NULL;
}

static void append_text(struct str *all, const struct xml_node *node)
{
	str_append(all, str_text(&node->text));
	for (const struct xml_node *child = node->children; child; child = child->next) {
		append_text(all, child);
		str_append(all, str_text(&child->tail));
	}
}

char *xml_text(const struct xml_node *node)
{
	struct str all = {0};

	append_text(&all, node);
	return str_steal(&all);
}
