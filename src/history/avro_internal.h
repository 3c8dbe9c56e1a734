/* A schema, and values by it. */
#ifndef TONY_HISTORY_AVRO_INTERNAL_H
#define TONY_HISTORY_AVRO_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "history/avro.h"

/* Bytes that are taken from the front. */
struct avro_bytes {
	const uint8_t *next, *end;
};

struct avro_schema {
	json_t *root;
	struct map *
		names; /* of the schemas in it that have one, without namespace: json_t, borrowed */
};

int avro_schema_parse(const char *text, size_t length, struct avro_schema *schema, struct err *err);
void avro_schema_finish(struct avro_schema *schema);

/* -1: it ends before. */
int avro_take(struct avro_bytes *bytes, size_t length, const uint8_t **start, struct err *err);
int avro_take_long(struct avro_bytes *bytes, int64_t *value, struct err *err);

struct avro_decoder {
	const struct avro_schema *schema;
	struct avro_bytes bytes;
	int64_t values_left;
	int depth;
	struct err *err;
};
/* The next value of the schema's root. NULL: `err`. */
json_t *avro_decode(struct avro_decoder *decoder);

#endif
