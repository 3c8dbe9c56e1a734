#include "executor/event_record.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/str.h"

/* Numbers of fields, and the types of tensors that are scalars. */
enum {
	EVENT_WALL_TIME = 1,
	EVENT_STEP = 2,
	EVENT_SUMMARY = 5,
	SUMMARY_VALUE = 1,
	VALUE_TAG = 1,
	VALUE_SIMPLE = 2,
	VALUE_TENSOR = 8,
	TENSOR_TYPE = 1,
	TENSOR_CONTENT = 4,
	TENSOR_FLOATS = 5,
	TENSOR_DOUBLES = 6,
	TYPE_FLOAT = 1,
	TYPE_DOUBLE = 2,
};

/* Of protobuf's encoding. */
enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

/* ---- records ------------------------------------------------------------------------------ */

static uint64_t little_endian(const unsigned char *bytes, size_t count)
{
	uint64_t value = 0;

	for (size_t i = count; i-- > 0;)
		value = value << 8 | bytes[i];
	return value;
}

static uint32_t masked_checksum(const void *bytes, size_t length)
{
	uint32_t crc = crc32c(bytes, length);

	return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

int64_t event_record_length(const void *head)
{
	const unsigned char *bytes = head;
	uint64_t length = little_endian(bytes, 8);

	if (little_endian(bytes + 8, 4) != masked_checksum(head, 8) || length > INT64_MAX / 2)
		return -1;
	return (int64_t)length;
}

/* ---- protobuf ----------------------------------------------------------------------------- */

struct span {
	const unsigned char *bytes;
	size_t length;
};

struct field {
	uint32_t number, wire;
	uint64_t value;	   /* of the numbers' types */
	struct span bytes; /* of WIRE_BYTES */
};

static int read_varint(struct span *span, uint64_t *value)
{
	*value = 0;
	for (unsigned shift = 0; shift < 64 && span->length > 0; shift += 7) {
		unsigned char byte = *span->bytes++;
		span->length--;
		*value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return 0;
	}
	return -1;
}

static int read_bytes(struct span *span, uint64_t count, struct span *bytes)
{
	if (count > span->length)
		return -1;
	*bytes = (struct span){span->bytes, (size_t)count};
	span->bytes += count;
	span->length -= (size_t)count;
	return 0;
}

static int read_fixed(struct span *span, size_t count, uint64_t *value)
{
	struct span bytes;

	if (read_bytes(span, count, &bytes) < 0)
		return -1;
	*value = little_endian(bytes.bytes, count);
	return 0;
}

/* 1: a field; 0: there are no more. */
static int next_field(struct span *span, struct field *field)
{
	uint64_t key, length;

	if (span->length == 0)
		return 0;
	if (read_varint(span, &key) < 0 || key > UINT32_MAX)
		return -1;
	*field = (struct field){.number = (uint32_t)key >> 3, .wire = (uint32_t)key & 7};
	switch (field->wire) {
	case WIRE_VARINT:
		return read_varint(span, &field->value) < 0 ? -1 : 1;
	case WIRE_FIXED64:
		return read_fixed(span, 8, &field->value) < 0 ? -1 : 1;
	case WIRE_FIXED32:
		return read_fixed(span, 4, &field->value) < 0 ? -1 : 1;
	case WIRE_BYTES:
		if (read_varint(span, &length) < 0)
			return -1;
		return read_bytes(span, length, &field->bytes) < 0 ? -1 : 1;
	default:
		return -1;
	}
}

static double to_double(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static double to_float(uint64_t bits)
{
	uint32_t narrow = (uint32_t)bits;
	float value;

	memcpy(&value, &narrow, sizeof(value));
	return value;
}

/* ---- an event ----------------------------------------------------------------------------- */

static bool is(const struct field *field, uint32_t number, uint32_t wire)
{
	return field->number == number && field->wire == wire;
}

/* A tensor's values, packed or not, if there is just one. */
struct tensor {
	uint64_t type;
	size_t count;
	double value;
};

static void add_packed(struct tensor *tensor, const struct span *bytes, size_t size)
{
	if (bytes->length == 0 || bytes->length % size != 0)
		return;
	tensor->count += bytes->length / size;
	uint64_t bits = little_endian(bytes->bytes, size);
	tensor->value = size == sizeof(float) ? to_float(bits) : to_double(bits);
}

static int read_tensor(struct span span, struct event_scalar *scalar, bool *has_value)
{
	struct tensor tensor = {0};
	struct field field;
	struct span content = {0};
	int more;

	while ((more = next_field(&span, &field)) > 0) {
		if (is(&field, TENSOR_TYPE, WIRE_VARINT))
			tensor.type = field.value;
		else if (is(&field, TENSOR_CONTENT, WIRE_BYTES))
			content = field.bytes;
		else if (is(&field, TENSOR_FLOATS, WIRE_BYTES))
			add_packed(&tensor, &field.bytes, sizeof(float));
		else if (is(&field, TENSOR_DOUBLES, WIRE_BYTES))
			add_packed(&tensor, &field.bytes, sizeof(double));
		else if (is(&field, TENSOR_FLOATS, WIRE_FIXED32))
			tensor = (struct tensor){tensor.type, tensor.count + 1,
						 to_float(field.value)};
		else if (is(&field, TENSOR_DOUBLES, WIRE_FIXED64))
			tensor = (struct tensor){tensor.type, tensor.count + 1,
						 to_double(field.value)};
	}
	if (tensor.type == TYPE_FLOAT || tensor.type == TYPE_DOUBLE)
		add_packed(&tensor, &content,
			   tensor.type == TYPE_FLOAT ? sizeof(float) : sizeof(double));
	if (more == 0 && tensor.count == 1) {
		scalar->value = tensor.value;
		*has_value = true;
	}
	return more;
}

static void copy_tag(const struct span *bytes, char *tag)
{
	tag[0] = '\0';
	if (bytes->length > EVENT_TAG_CAP)
		return;
	for (size_t i = 0; i < bytes->length; i++)
		if (bytes->bytes[i] < ' ' || bytes->bytes[i] == 0x7f)
			return;
	if (!str_is_utf8((const char *)bytes->bytes, bytes->length))
		return;
	memcpy(tag, bytes->bytes, bytes->length);
	tag[bytes->length] = '\0';
}

/* Its tag may be empty. */
static int read_value(struct span span, struct event_scalar *scalar, bool *has_value)
{
	struct field field;
	int more;

	scalar->tag[0] = '\0';
	*has_value = false;
	while ((more = next_field(&span, &field)) > 0) {
		if (is(&field, VALUE_TAG, WIRE_BYTES))
			copy_tag(&field.bytes, scalar->tag);
		else if (is(&field, VALUE_TENSOR, WIRE_BYTES) &&
			 read_tensor(field.bytes, scalar, has_value) < 0)
			return -1;
		if (!is(&field, VALUE_SIMPLE, WIRE_FIXED32))
			continue;
		scalar->value = to_float(field.value);
		*has_value = true;
	}
	return more;
}

static int read_summary(struct span span, struct event_scalar *scalar,
			void (*take)(void *data, const struct event_scalar *scalar), void *data)
{
	struct field field;
	bool has_value;
	int more;

	while ((more = next_field(&span, &field)) > 0) {
		if (!is(&field, SUMMARY_VALUE, WIRE_BYTES))
			continue;
		if (read_value(field.bytes, scalar, &has_value) < 0)
			return -1;
		if (scalar->tag[0] && has_value)
			take(data, scalar);
	}
	return more;
}

int event_record_read(const void *bytes, size_t length,
		      void (*take)(void *data, const struct event_scalar *scalar), void *data)
{
	struct span span = {bytes, length}, summary = {0};
	struct event_scalar scalar = {0};
	struct field field;
	int more;

	if (little_endian(span.bytes + length, EVENT_RECORD_TAIL) != masked_checksum(bytes, length))
		return -1;
	while ((more = next_field(&span, &field)) > 0) {
		if (is(&field, EVENT_WALL_TIME, WIRE_FIXED64))
			scalar.wall_s = to_double(field.value);
		else if (is(&field, EVENT_STEP, WIRE_VARINT))
			scalar.step = field.value <= INT64_MAX ? (int64_t)field.value : 0;
		else if (is(&field, EVENT_SUMMARY, WIRE_BYTES))
			summary = field.bytes;
	}
	if (more < 0 || !isfinite(scalar.wall_s) || scalar.wall_s < 0 || scalar.wall_s > 1e11)
		return -1;
	return read_summary(summary, &scalar, take, data);
}
