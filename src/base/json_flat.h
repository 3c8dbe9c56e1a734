/*
 * JSON objects of plain members, taken apart where they lie: no copies, some ten times as fast as
 * json_parse() (json.h), for files of very many of them. Plain is what this project writes: no
 * white space, texts of printable ASCII without escapes, whole numbers of at most 18 digits, true
 * and false. Of all else json_parse() has to be asked.
 */
#ifndef TONY_BASE_JSON_FLAT_H
#define TONY_BASE_JSON_FLAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { JSON_FLAT_MEMBERS = 32 };

struct json_flat_member {
	enum { JSON_FLAT_TEXT, JSON_FLAT_INT, JSON_FLAT_BOOL } kind;
	const char *name, *text; /* not NUL-terminated; text: of JSON_FLAT_TEXT */
	size_t name_length, text_length;
	int64_t number; /* of JSON_FLAT_INT and, 0 or 1, JSON_FLAT_BOOL */
};

struct json_flat {
	struct json_flat_member members[JSON_FLAT_MEMBERS];
	size_t count;
};

/* False: it is not so plain, or no JSON at all. What is in `flat` points into the bytes. */
bool json_flat_parse(struct json_flat *flat, const char *bytes, size_t length);

/* NULL: there is none. */
const struct json_flat_member *json_flat_find(const struct json_flat *flat, const char *name);

/* As their namesakes of json.h. */
int json_flat_read_text(const struct json_flat *flat, const char *name, char **value,
			struct err *err);
int json_flat_read_int(const struct json_flat *flat, const char *name, int64_t min, int64_t max,
		       int64_t *value, struct err *err);
int json_flat_read_bool(const struct json_flat *flat, const char *name, bool *value,
			struct err *err);

#endif
