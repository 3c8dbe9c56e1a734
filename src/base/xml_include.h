/*
 * <xi:include href="FILE"> with <xi:fallback>, as Hadoop's configuration files have it: only
 * files of this machine, from the directory of the file that includes.
 */
#ifndef TONY_BASE_XML_INCLUDE_H
#define TONY_BASE_XML_INCLUDE_H

#include "base/err.h"
#include "base/xml.h"

#define XML_INCLUDE_CAP 16 /* files within files */

/* One file under way; `outer` includes it. */
struct xml_file {
	const char *path;
	const struct xml_file *outer;
	size_t *budget; /* bytes that may still be read, over all files */
};

/*
 * An <include> stands for a file's bytes, or for its fallback if the file does not exist or the
 * href is a URL. No URL is fetched; Hadoop takes the fallback of a URL that it cannot reach, too. A
 * file that exists and cannot be read is an error, as for Hadoop.
 */
struct xml_included {
	const struct xml_node *fallback; /* NULL: the file */
	struct xml_file file;
	char *path, *bytes; /* owned */
	size_t length;
};
#define cleanup_xml_included __attribute__((cleanup(xml_included_finish)))
void xml_included_finish(struct xml_included *included);

/* Fills a zeroed `included` by an <include> in `file`; takes what it reads from the budget. */
int xml_include(const struct xml_file *file, const struct xml_node *element,
		struct xml_included *included, struct err *err);

#endif
