/*
 * A small XML document as a tree: elements, attributes and text; comments and processing
 * instructions are passed over. No entity but XML's own five is ever expanded, so nothing but the
 * given bytes is read.
 */
#ifndef TONY_BASE_XML_H
#define TONY_BASE_XML_H

#include <stdbool.h>

#include "base/str.h"

#define XML_DEPTH_CAP	 256 /* elements within elements */
#define XML_ELEMENTS_CAP 100000

struct xml_node {
	const char *name; /* without a namespace's prefix */
	int line;
	char **attributes; /* name, value, ..., NULL; with the prefix, as written */
	struct str text;   /* up to the first child */
	struct str tail;   /* behind it, up to the next element */
	struct xml_node *parent, *children, *last, *next;
	char *tag; /* the name as written */
};

/* The first error in a document, and its line. */
struct xml_flaw {
	char *text; /* owned */
	int line;
	bool is_doctype; /* one that is not allowed */
};

enum xml_doctype {
	XML_DOCTYPE_REFUSED,
	XML_DOCTYPE_PLAIN, /* accepted unless it declares entities; what it names is not read */
};

/* The root, or NULL and a filled flaw. `length`: 1 GiB at most. */
struct xml_node *xml_parse(const char *bytes, size_t length, enum xml_doctype doctype,
			   struct xml_flaw *flaw);
void xml_free(struct xml_node *root); /* NULL is fine */

const char *xml_attribute(const struct xml_node *node, const char *name); /* NULL: none */
/* All text of an element, that of elements in it included. The caller frees. */
char *xml_text(const struct xml_node *node);

#endif
