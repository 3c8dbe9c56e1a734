/* The plain members of what travels in job.json about a cluster: one table each, by which they are
 * written, read, checked and freed. */
#ifndef TONY_HADOOP_FIELDS_H
#define TONY_HADOOP_FIELDS_H

#include <jansson.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

#define HADOOP_MAX_ADDRESSES 64 /* of one service */

enum hadoop_field_kind {
	HADOOP_TEXT,	 /* char *; one line of at most 4 KiB, like all texts but PEM */
	HADOOP_OPTIONAL, /* char *; NULL when the member is absent */
	HADOOP_PEM,	 /* char *; NULL when the member is absent; TLS_AUTHORITIES_CAP bytes */
	HADOOP_LIST,	 /* struct str_list of HADOOP_MAX_ADDRESSES; empty when it is absent */
	HADOOP_BOOL,	 /* bool; as it was when the member is absent */
	HADOOP_MS,	 /* int64_t, from -1 to a year */
};

struct hadoop_field {
	const char *name; /* of the JSON member */
	size_t offset;
	enum hadoop_field_kind kind;
};

/* -1: `err` (ERR_INPUT), and what was read by then stays in `target`. */
int hadoop_fields_read(const struct hadoop_field *fields, size_t count, const json_t *object,
		       void *target, struct err *err);
void hadoop_fields_write(const struct hadoop_field *fields, size_t count, const void *source,
			 json_t *object);
void hadoop_fields_finish(const struct hadoop_field *fields, size_t count, void *target);

/* One line of at most 4 KiB; all of a list, which has at most `cap` entries. */
int hadoop_check_text(const char *name, const char *text, struct err *err);
int hadoop_check_list(const char *name, const struct str_list *list, size_t cap, struct err *err);

#endif
