/* The plain members of a structure that travels in JSON: one table, by which they are written,
 * read, checked and freed. */
#ifndef TONY_BASE_FIELDS_H
#define TONY_BASE_FIELDS_H

#include <jansson.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

enum {
	FIELD_LIST_CAP = 64,	   /* entries of a list */
	FIELD_LINES_CAP = 1 << 20, /* bytes */
};

enum field_kind {
	FIELD_TEXT,	/* char *; one line of at most 4 KiB, like all texts but FIELD_LINES */
	FIELD_OPTIONAL, /* char *; NULL when the member is absent */
	FIELD_LINES,	/* char *; NULL when the member is absent; at most FIELD_LINES_CAP bytes */
	FIELD_LIST,	/* struct str_list of at most FIELD_LIST_CAP; empty when it is absent */
	FIELD_BOOL,	/* bool; as it was when the member is absent */
	FIELD_MS,	/* int64_t, from -1 to a year */
	/* The same; 0 has no member, and what has none stays as it was: older programs write none.
	 */
	FIELD_OPTIONAL_MS,
};

struct field {
	const char *name; /* of the JSON member */
	size_t offset;
	enum field_kind kind;
};

/* -1: `err` (ERR_INPUT), and what was read by then stays in `target`. */
int fields_read(const struct field *fields, size_t count, const json_t *object, void *target,
		struct err *err);
void fields_write(const struct field *fields, size_t count, const void *source, json_t *object);
void fields_finish(const struct field *fields, size_t count, void *target);

/* One line of at most 4 KiB; all of a list, which has at most `cap` entries. */
int field_check_text(const char *name, const char *text, struct err *err);
int field_check_list(const char *name, const struct str_list *list, size_t cap, struct err *err);

#endif
