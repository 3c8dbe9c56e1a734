#include "history/avro.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "history/avro_internal.h"

enum { SYNC_BYTES = 16, SCHEMA_CAP = 1 << 20, INFLATE_STEP = 64 << 10 };
enum { VALUES_A_BYTE = 4, VALUES_A_BLOCK = 1000 };

struct container {
	struct avro_bytes bytes;
	struct avro_schema schema;
	bool is_deflated;
	const uint8_t *sync;
	int64_t values_left;
	int (*visit)(void *data, const json_t *record, struct err *err);
	void *data;
	struct err *err;
};

/* ---- the head ----------------------------------------------------------------------------- */

static int take_bytes(struct container *container, const uint8_t **start, size_t *length)
{
	int64_t value;

	if (avro_take_long(&container->bytes, &value, container->err) < 0)
		return -1;
	if (value < 0)
		return err_set(container->err, ERR_INPUT, "has a block of negative length");
	*length = (size_t)value;
	return avro_take(&container->bytes, *length, start, container->err);
}

static int take_codec(struct container *container, const char *codec, size_t length)
{
	char *name cleanup_free = str_printable(codec, length < 64 ? length : 64);

	container->is_deflated = strcmp(name, "deflate") == 0;
	if (container->is_deflated || strcmp(name, "null") == 0)
		return 0;
	return err_set(container->err, ERR_INPUT,
		       "is packed with \"%s\"; only null and deflate are read", name);
}

static bool is_key(const uint8_t *key, size_t length, const char *name)
{
	return length == strlen(name) && memcmp(key, name, length) == 0;
}

static int take_entry(struct container *container)
{
	const uint8_t *key = NULL, *value = NULL;
	size_t key_length = 0, length = 0;

	if (take_bytes(container, &key, &key_length) < 0 ||
	    take_bytes(container, &value, &length) < 0)
		return -1;
	if (is_key(key, key_length, "avro.codec"))
		return take_codec(container, (const char *)value, length);
	if (!is_key(key, key_length, "avro.schema") || container->schema.root)
		return 0;
	if (length > SCHEMA_CAP)
		return err_set(container->err, ERR_INPUT, "has a schema of over %d bytes",
			       SCHEMA_CAP);
	return avro_schema_parse((const char *)value, length, &container->schema, container->err);
}

/* A map from names to bytes. */
static int take_metadata(struct container *container)
{
	int64_t count, size;

	for (;;) {
		if (avro_take_long(&container->bytes, &count, container->err) < 0 ||
		    (count < 0 && avro_take_long(&container->bytes, &size, container->err) < 0))
			return -1;
		if (count == 0)
			return 0;
		for (int64_t i = 0; i != count; i += count < 0 ? -1 : 1)
			if (take_entry(container) < 0)
				return -1;
	}
}

static int take_head(struct container *container)
{
	static const uint8_t magic[] = {'O', 'b', 'j', 1};
	const uint8_t *start;

	if (avro_take(&container->bytes, sizeof(magic), &start, NULL) < 0 ||
	    memcmp(start, magic, sizeof(magic)) != 0)
		return err_set(container->err, ERR_INPUT, "is not an Avro file");
	if (take_metadata(container) < 0)
		return -1;
	if (!container->schema.root)
		return err_set(container->err, ERR_INPUT, "has no schema");
	return avro_take(&container->bytes, SYNC_BYTES, &container->sync, container->err);
}

/* ---- blocks ------------------------------------------------------------------------------- */

static int inflate_all(z_stream *stream, struct str *out, struct err *err)
{
	char *buffer cleanup_free = mem_alloc(INFLATE_STEP);
	int state = Z_OK;

	while (state == Z_OK) {
		stream->next_out = (Bytef *)buffer;
		stream->avail_out = INFLATE_STEP;
		state = inflate(stream, Z_NO_FLUSH);
		size_t got = INFLATE_STEP - stream->avail_out;
		if (out->length + got > AVRO_BLOCK_CAP)
			return err_set(err, ERR_INPUT,
				       "has a block that inflates to over %zu bytes",
				       AVRO_BLOCK_CAP);
		str_append_bytes(out, buffer, got);
	}
	return state == Z_STREAM_END ? 0
				     : err_set(err, ERR_INPUT, "has a block that is not deflated");
}

/* Raw deflate, without a head. */
static int unpack(const uint8_t *bytes, size_t length, struct str *out, struct err *err)
{
	z_stream stream = {.next_in = (Bytef *)bytes, .avail_in = (uInt)length};

	if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
		return err_set(err, ERR_FAILED, "zlib cannot be used");
	int result = inflate_all(&stream, out, err);
	inflateEnd(&stream);
	return result;
}

/* Nulls and empty records take no bytes, all other values at least one: a block of few bytes has
 * few values, however many it says that it has. */
static int64_t count_values_at_most(const struct container *container, struct avro_bytes bytes)
{
	int64_t most = VALUES_A_BLOCK + (int64_t)VALUES_A_BYTE * (bytes.end - bytes.next);

	return most < container->values_left ? most : container->values_left;
}

static int read_records(struct container *container, int64_t count, struct avro_bytes bytes)
{
	int64_t most = count_values_at_most(container, bytes);
	struct avro_decoder decoder = {.schema = &container->schema,
				       .bytes = bytes,
				       .values_left = most,
				       .err = container->err};
	int result = 0;

	while (count-- > 0 && result == 0) {
		json_t *record = avro_decode(&decoder);
		if (!record)
			return -1;
		result = container->visit(container->data, record, container->err);
		json_decref(record);
	}
	container->values_left -= most - decoder.values_left;
	return result;
}

static int read_block(struct container *container)
{
	struct str unpacked cleanup_str = {0};
	const uint8_t *start = NULL, *sync = NULL;
	struct avro_bytes bytes;
	size_t length = 0;
	int64_t count;

	if (avro_take_long(&container->bytes, &count, container->err) < 0 ||
	    take_bytes(container, &start, &length) < 0 ||
	    avro_take(&container->bytes, SYNC_BYTES, &sync, container->err) < 0)
		return -1;
	if (count < 0 || memcmp(sync, container->sync, SYNC_BYTES) != 0)
		return err_set(container->err, ERR_INPUT, "has a damaged block");
	bytes = (struct avro_bytes){start, start + length};
	if (container->is_deflated) {
		if (unpack(start, length, &unpacked, container->err) < 0)
			return -1;
		start = (const uint8_t *)str_text(&unpacked);
		bytes = (struct avro_bytes){start, start + unpacked.length};
	}
	return read_records(container, count, bytes);
}

int avro_read(const void *bytes, size_t length,
	      int (*visit)(void *data, const json_t *record, struct err *err), void *data,
	      struct err *err)
{
	struct container container = {
		.bytes = {bytes, (const uint8_t *)bytes + length},
		.values_left = AVRO_VALUE_CAP,
		.visit = visit,
		.data = data,
		.err = err,
	};
	int result;

	if (length > AVRO_FILE_CAP)
		return err_set(err, ERR_INPUT, "is larger than %zu bytes", AVRO_FILE_CAP);
	result = take_head(&container);
	while (result == 0 && container.bytes.next < container.bytes.end)
		result = read_block(&container);
	avro_schema_finish(&container.schema);
	return result;
}
