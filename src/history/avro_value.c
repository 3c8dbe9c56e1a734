#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "history/avro_internal.h"

enum { DEPTH_CAP = 64, LONG_BYTES = 10 };

/* ---- bytes -------------------------------------------------------------------------------- */

int avro_take(struct avro_bytes *bytes, size_t length, const uint8_t **start, struct err *err)
{
	if (length > (size_t)(bytes->end - bytes->next))
		return err_set(err, ERR_INPUT, "ends in the middle of a value");
	*start = bytes->next;
	bytes->next += length;
	return 0;
}

/* Seven bits a byte, the lowest first; zigzag. */
int avro_take_long(struct avro_bytes *bytes, int64_t *value, struct err *err)
{
	uint64_t bits = 0;

	for (int i = 0; i < LONG_BYTES; i++) {
		const uint8_t *byte = NULL;
		if (avro_take(bytes, 1, &byte, err) < 0)
			return -1;
		bits |= (uint64_t)(*byte & 0x7f) << (7 * i);
		if (*byte & 0x80)
			continue;
		*value = (int64_t)(bits >> 1) ^ -(int64_t)(bits & 1);
		return 0;
	}
	return err_set(err, ERR_INPUT, "has a number of more than %d bytes", LONG_BYTES);
}

/* ---- schema ------------------------------------------------------------------------------- */

/* "com.linkedin.tony.events.Event" -> "Event" */
static const char *short_name(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot ? dot + 1 : name;
}

/* json_parse() bounds the depth. */
static void collect_names(struct avro_schema *schema, json_t *node)
{
	const char *name = json_string_value(json_object_get(node, "name"));
	json_t *child;
	const char *key;
	size_t i;

	if (name && json_object_get(node, "type"))
		map_set(schema->names, short_name(name), node);
	json_array_foreach(node, i, child)
	{
		collect_names(schema, child);
	}
	json_object_foreach(node, key, child)
	{
		collect_names(schema, child);
	}
}

int avro_schema_parse(const char *text, size_t length, struct avro_schema *schema, struct err *err)
{
	schema->root = json_parse(text, length, err);
	if (!schema->root)
		return err_wrap(err, "its schema");
	schema->names = map_create(NULL);
	collect_names(schema, schema->root);
	return 0;
}

void avro_schema_finish(struct avro_schema *schema)
{
	json_decref(schema->root);
	map_destroy(schema->names);
}

/* ---- plain values ------------------------------------------------------------------------- */

static json_t *decode(struct avro_decoder *decoder, const json_t *schema);

static json_t *fail(struct avro_decoder *decoder, const char *text)
{
	err_set(decoder->err, ERR_INPUT, "%s", text);
	return NULL;
}

static json_t *decode_null(struct avro_decoder *decoder, const json_t *schema)
{
	return json_null();
}

static json_t *decode_boolean(struct avro_decoder *decoder, const json_t *schema)
{
	const uint8_t *byte = NULL;

	return avro_take(&decoder->bytes, 1, &byte, decoder->err) < 0 ? NULL : json_boolean(*byte);
}

static json_t *decode_long(struct avro_decoder *decoder, const json_t *schema)
{
	int64_t value = 0;

	return avro_take_long(&decoder->bytes, &value, decoder->err) < 0 ? NULL
									 : json_integer(value);
}

static json_t *make_number(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *decode_float(struct avro_decoder *decoder, const json_t *schema)
{
	const uint8_t *bytes = NULL;
	float value;

	if (avro_take(&decoder->bytes, sizeof(value), &bytes, decoder->err) < 0)
		return NULL;
	memcpy(&value, bytes, sizeof(value));
	return make_number((double)value);
}

static json_t *decode_double(struct avro_decoder *decoder, const json_t *schema)
{
	const uint8_t *bytes = NULL;
	double value;

	if (avro_take(&decoder->bytes, sizeof(value), &bytes, decoder->err) < 0)
		return NULL;
	memcpy(&value, bytes, sizeof(value));
	return make_number(value);
}

static int take_text(struct avro_decoder *decoder, const uint8_t **start, size_t *length)
{
	int64_t value;

	if (avro_take_long(&decoder->bytes, &value, decoder->err) < 0)
		return -1;
	if (value < 0)
		return err_set(decoder->err, ERR_INPUT, "has a text of negative length");
	*length = (size_t)value;
	return avro_take(&decoder->bytes, *length, start, decoder->err);
}

static char *take_string(struct avro_decoder *decoder)
{
	const uint8_t *start = NULL;
	size_t length = 0;

	return take_text(decoder, &start, &length) < 0 ? NULL
						       : str_printable((const char *)start, length);
}

static json_t *decode_string(struct avro_decoder *decoder, const json_t *schema)
{
	char *text cleanup_free = take_string(decoder);

	return text ? json_string(text) : NULL;
}

static json_t *decode_bytes(struct avro_decoder *decoder, const json_t *schema)
{
	const uint8_t *start = NULL;
	size_t length = 0;

	return take_text(decoder, &start, &length) < 0 ? NULL : json_null();
}

static json_t *decode_fixed(struct avro_decoder *decoder, const json_t *schema)
{
	json_int_t size = json_integer_value(json_object_get(schema, "size"));
	const uint8_t *start;

	if (size < 0)
		return fail(decoder, "its schema has a fixed of negative size");
	return avro_take(&decoder->bytes, (size_t)size, &start, decoder->err) < 0 ? NULL
										  : json_null();
}

static json_t *decode_enum(struct avro_decoder *decoder, const json_t *schema)
{
	const json_t *symbols = json_object_get(schema, "symbols");
	int64_t index;

	if (avro_take_long(&decoder->bytes, &index, decoder->err) < 0)
		return NULL;
	const json_t *symbol = index < 0 ? NULL : json_array_get(symbols, (size_t)index);
	if (!json_is_string(symbol))
		return fail(decoder, "has a symbol that is none of its enum's");
	return json_string(json_string_value(symbol));
}

/* ---- values of values --------------------------------------------------------------------- */

static json_t *decode_union(struct avro_decoder *decoder, const json_t *schema)
{
	int64_t branch;

	if (avro_take_long(&decoder->bytes, &branch, decoder->err) < 0)
		return NULL;
	if (branch < 0 || (uint64_t)branch >= json_array_size(schema))
		return fail(decoder, "has a value that is none of its union's");
	return decode(decoder, json_array_get(schema, (size_t)branch));
}

static json_t *decode_record(struct avro_decoder *decoder, const json_t *schema)
{
	const char *name = json_string_value(json_object_get(schema, "name"));
	json_t *record cleanup_json = json_object();
	const json_t *field;
	size_t i;

	json_set_text(record, "$record", name ? short_name(name) : "");
	json_array_foreach(json_object_get(schema, "fields"), i, field)
	{
		const char *member = json_string_value(json_object_get(field, "name"));
		json_t *value = decode(decoder, json_object_get(field, "type"));
		if (!value)
			return NULL;
		if (member)
			json_object_set_new(record, member, value);
		else
			json_decref(value);
	}
	return mem_steal(&record);
}

/* Arrays and maps come in blocks: how many items, then these; 0: the end. A negative number has
 * the size in bytes behind it. */
static int take_count(struct avro_decoder *decoder, int64_t *count)
{
	int64_t size;

	if (avro_take_long(&decoder->bytes, count, decoder->err) < 0)
		return -1;
	if (*count >= 0)
		return 0;
	if (*count == INT64_MIN)
		return err_set(decoder->err, ERR_INPUT, "has a list of impossible length");
	*count = -*count;
	return avro_take_long(&decoder->bytes, &size, decoder->err);
}

static json_t *decode_array(struct avro_decoder *decoder, const json_t *schema)
{
	json_t *array cleanup_json = json_array();
	int64_t count;

	for (;;) {
		if (take_count(decoder, &count) < 0)
			return NULL;
		if (count == 0)
			return mem_steal(&array);
		while (count-- > 0) {
			json_t *item = decode(decoder, json_object_get(schema, "items"));
			if (!item)
				return NULL;
			json_array_append_new(array, item);
		}
	}
}

static json_t *decode_map(struct avro_decoder *decoder, const json_t *schema)
{
	json_t *object cleanup_json = json_object();
	int64_t count;

	for (;;) {
		if (take_count(decoder, &count) < 0)
			return NULL;
		if (count == 0)
			return mem_steal(&object);
		while (count-- > 0) {
			char *key cleanup_free = take_string(decoder);
			json_t *value =
				key ? decode(decoder, json_object_get(schema, "values")) : NULL;
			if (!value)
				return NULL;
			json_object_set_new(object, key, value);
		}
	}
}

/* ---- by schema ---------------------------------------------------------------------------- */

static const struct {
	const char *type;
	json_t *(*decode)(struct avro_decoder *decoder, const json_t *schema);
} types[] = {
	{"null", decode_null},	   {"boolean", decode_boolean}, {"int", decode_long},
	{"long", decode_long},	   {"float", decode_float},	{"double", decode_double},
	{"string", decode_string}, {"bytes", decode_bytes},	{"fixed", decode_fixed},
	{"enum", decode_enum},	   {"record", decode_record},	{"array", decode_array},
	{"map", decode_map},
};

/* A schema is the name of a type, an object with the type in "type" (which may be a schema again),
 * or an array: a union. */
static json_t *decode_by(struct avro_decoder *decoder, const json_t *schema)
{
	const json_t *type = json_is_object(schema) ? json_object_get(schema, "type") : schema;
	const char *name = json_string_value(type);

	if (json_is_array(type))
		return decode_union(decoder, type);
	if (json_is_object(type))
		return decode(decoder, type);
	if (!name)
		return fail(decoder, "its schema has something that is no type");
	for (size_t i = 0; i < array_length(types); i++)
		if (strcmp(types[i].type, name) == 0)
			return types[i].decode(decoder, schema);
	const json_t *named = map_get(decoder->schema->names, short_name(name));
	if (!named)
		return fail(decoder, "its schema names a type that it does not have");
	return decode(decoder, named);
}

static json_t *decode(struct avro_decoder *decoder, const json_t *schema)
{
	if (decoder->depth == DEPTH_CAP)
		return fail(decoder, "has values that are nested too deep");
	if (decoder->values_left-- <= 0)
		return fail(decoder, "has too many values");
	decoder->depth++;
	json_t *value = decode_by(decoder, schema);
	decoder->depth--;
	return value;
}

json_t *avro_decode(struct avro_decoder *decoder)
{
	return decode(decoder, decoder->schema->root);
}
