#include "hadoop/java_object.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "hadoop/tfile_bytes.h"

/* ObjectStreamConstants */
enum {
	MAGIC = 0xaced0005,
	TC_NULL = 0x70,
	TC_REFERENCE,
	TC_CLASSDESC,
	TC_OBJECT,
	TC_STRING,
	TC_BLOCKDATA = 0x77,
	TC_ENDBLOCKDATA,
	TC_BLOCKDATALONG = 0x7a,
	TC_LONGSTRING = 0x7c,
	TC_ENUM = 0x7e,
	FIRST_HANDLE = 0x7e0000,
	VERSION_BYTES = 8, /* of a class */
	SC_WRITE_METHOD = 1,
	SC_SERIALIZABLE = 2,
};

struct java_stream {
	struct tfile_bytes bytes;
	struct java_value **values; /* all there are; those that can be referred to come first */
	size_t count;
	struct java_value **handles;
	size_t handle_count;
	const struct java_value *root;
	int depth;
};

static const struct java_value null = {.kind = JAVA_NULL};

/* ---- small pieces ------------------------------------------------------------------------- */

static bool take_big_endian(struct java_stream *stream, size_t size, int64_t *number)
{
	struct tfile_bytes part;
	uint64_t value = 0;

	if (!tfile_take_bytes(&stream->bytes, size, &part))
		return false;
	for (size_t i = 0; i < size; i++)
		value = value << 8 | part.at[i];
	*number = (int64_t)value;
	return true;
}

/* Java's "modified UTF-8" differs from UTF-8 in NUL, which no name here has, and in what lies
 * beyond U+FFFF. NULL: it does not fit. */
static char *take_text(struct java_stream *stream, size_t size)
{
	struct tfile_bytes part;
	int64_t length;

	if (!take_big_endian(stream, size, &length) || length < 0 ||
	    !tfile_take_bytes(&stream->bytes, (size_t)length, &part) ||
	    memchr(part.at, '\0', part.left))
		return NULL;
	return mem_strndup((const char *)part.at, part.left);
}

static struct java_value *add_value(struct java_stream *stream, enum java_kind kind)
{
	struct java_value *value = mem_alloc(sizeof(*value));

	value->kind = kind;
	stream->values =
		mem_realloc_array(stream->values, stream->count + 1, sizeof(*stream->values));
	stream->values[stream->count++] = value;
	return value;
}

/* Later parts of the stream may refer to it. */
static struct java_value *add_handle(struct java_stream *stream, enum java_kind kind)
{
	struct java_value *value = add_value(stream, kind);

	stream->handles = mem_realloc_array(stream->handles, stream->handle_count + 1,
					    sizeof(*stream->handles));
	stream->handles[stream->handle_count++] = value;
	return value;
}

static void add_member(struct java_value *value, const char *name, char type,
		       const struct java_value *of)
{
	value->members =
		mem_realloc_array(value->members, value->member_count + 1, sizeof(*value->members));
	value->members[value->member_count++] = (struct java_member){name, type, of};
}

static const struct java_value *take_content(struct java_stream *stream, unsigned char code);

/* NULL: it is not what the specification says. */
static const struct java_value *take_next(struct java_stream *stream)
{
	struct tfile_bytes code;

	return tfile_take_bytes(&stream->bytes, 1, &code) ? take_content(stream, *code.at) : NULL;
}

/* A class has written this by itself: objects, which `owner` gets (NULL: nobody), and bare bytes.
 */
static bool take_annotation(struct java_stream *stream, struct java_value *owner)
{
	for (;;) {
		struct tfile_bytes code, skipped;
		int64_t length;
		if (!tfile_take_bytes(&stream->bytes, 1, &code))
			return false;
		if (*code.at == TC_ENDBLOCKDATA)
			return true;
		if (*code.at == TC_BLOCKDATA || *code.at == TC_BLOCKDATALONG) {
			if (!take_big_endian(stream, *code.at == TC_BLOCKDATA ? 1 : 4, &length) ||
			    !tfile_take_bytes(&stream->bytes, (size_t)length, &skipped))
				return false;
			continue;
		}
		const struct java_value *item = take_content(stream, *code.at);
		if (!item)
			return false;
		if (!owner)
			continue;
		owner->items = mem_realloc_array(owner->items, owner->item_count + 1,
						 sizeof(*owner->items));
		owner->items[owner->item_count++] = item;
	}
}

/* ---- classes ------------------------------------------------------------------------------ */

static const struct java_value *take_of_kind(struct java_stream *stream, enum java_kind kind)
{
	const struct java_value *value = take_next(stream);

	return value && value->kind == kind ? value : NULL;
}

static bool take_description(struct java_stream *stream, struct java_value *class)
{
	struct tfile_bytes type;
	int64_t count;

	if (!take_big_endian(stream, 2, &count))
		return false;
	for (; count > 0; count--) {
		if (!tfile_take_bytes(&stream->bytes, 1, &type))
			return false;
		struct java_value *name = add_value(stream, JAVA_TEXT);
		name->text = take_text(stream, 2);
		if (!name->text)
			return false;
		if ((*type.at == 'L' || *type.at == '[') && !take_of_kind(stream, JAVA_TEXT))
			return false;
		add_member(class, name->text, (char)*type.at, NULL);
	}
	return true;
}

static const struct java_value *take_class(struct java_stream *stream)
{
	char *name = take_text(stream, 2);
	struct tfile_bytes part;

	if (!name)
		return NULL;
	struct java_value *class = add_handle(stream, JAVA_CLASS);
	class->text = name;
	if (!tfile_take_bytes(&stream->bytes, VERSION_BYTES + 1, &part))
		return NULL;
	class->flags = part.at[VERSION_BYTES];
	if (!take_description(stream, class) || !take_annotation(stream, NULL))
		return NULL;
	const struct java_value *parent = take_next(stream);
	if (!parent || (parent->kind != JAVA_CLASS && parent->kind != JAVA_NULL) || parent == class)
		return NULL;
	class->parent = parent->kind == JAVA_CLASS ? parent : NULL;
	return class;
}

/* ---- objects ------------------------------------------------------------------------------ */

/* Bytes of a field that is no object; 0: it is one. */
static size_t size_of_type(char type)
{
	switch (type) {
	case 'B':
	case 'Z':
		return 1;
	case 'C':
	case 'S':
		return 2;
	case 'I':
	case 'F':
		return 4;
	case 'J':
	case 'D':
		return 8;
	default:
		return 0;
	}
}

static const struct java_value *take_field(struct java_stream *stream, char type)
{
	size_t size = size_of_type(type);

	if (size == 0)
		return type == 'L' || type == '[' ? take_next(stream) : NULL;
	struct java_value *value = add_value(stream, JAVA_NUMBER);
	return take_big_endian(stream, size, &value->number) ? value : NULL;
}

/* The uppermost class's first. */
static bool take_data(struct java_stream *stream, const struct java_value *class,
		      struct java_value *object, int depth)
{
	if (depth == JAVA_DEPTH_CAP ||
	    (class->parent && !take_data(stream, class->parent, object, depth + 1)))
		return false;
	if (!(class->flags & SC_SERIALIZABLE))
		return false;
	for (size_t i = 0; i < class->member_count; i++) {
		const struct java_member *member = &class->members[i];
		const struct java_value *value = take_field(stream, member->type);
		if (!value)
			return false;
		add_member(object, member->name, member->type, value);
	}
	return !(class->flags & SC_WRITE_METHOD) || take_annotation(stream, object);
}

static const struct java_value *take_object(struct java_stream *stream)
{
	const struct java_value *class = take_of_kind(stream, JAVA_CLASS);

	if (!class)
		return NULL;
	struct java_value *object = add_handle(stream, JAVA_OBJECT);
	return take_data(stream, class, object, 0) ? object : NULL;
}

/* Its value is the constant's name. */
static const struct java_value *take_enum(struct java_stream *stream)
{
	if (!take_of_kind(stream, JAVA_CLASS))
		return NULL;
	struct java_value *constant = add_handle(stream, JAVA_TEXT);
	const struct java_value *name = take_of_kind(stream, JAVA_TEXT);
	if (!name || !name->text)
		return NULL;
	constant->text = mem_strdup(name->text);
	return constant;
}

static const struct java_value *take_string(struct java_stream *stream, size_t size)
{
	struct java_value *string = add_handle(stream, JAVA_TEXT);

	string->text = take_text(stream, size);
	return string->text ? string : NULL;
}

static const struct java_value *take_reference(struct java_stream *stream)
{
	int64_t handle;

	if (!take_big_endian(stream, 4, &handle) || handle < FIRST_HANDLE ||
	    handle - FIRST_HANDLE >= (int64_t)stream->handle_count)
		return NULL;
	return stream->handles[handle - FIRST_HANDLE];
}

static const struct java_value *take_kind_of_content(struct java_stream *stream, unsigned char code)
{
	switch (code) {
	case TC_NULL:
		return &null;
	case TC_REFERENCE:
		return take_reference(stream);
	case TC_CLASSDESC:
		return take_class(stream);
	case TC_OBJECT:
		return take_object(stream);
	case TC_STRING:
		return take_string(stream, 2);
	case TC_LONGSTRING:
		return take_string(stream, 8);
	case TC_ENUM:
		return take_enum(stream);
	default:
		return NULL;
	}
}

static const struct java_value *take_content(struct java_stream *stream, unsigned char code)
{
	if (stream->depth == JAVA_DEPTH_CAP)
		return NULL;
	stream->depth++;
	const struct java_value *value = take_kind_of_content(stream, code);
	stream->depth--;
	return value;
}

/* ---- the whole ---------------------------------------------------------------------------- */

struct java_stream *java_stream_read(const void *bytes, size_t length, struct err *err)
{
	struct java_stream *stream = mem_alloc(sizeof(*stream));
	int64_t magic;

	stream->bytes = (struct tfile_bytes){bytes, length};
	if (take_big_endian(stream, 4, &magic) && magic == MAGIC)
		stream->root = take_next(stream);
	if (stream->root && stream->root->kind == JAVA_OBJECT)
		return stream;
	err_set(err, ERR_INPUT, "byte %zu: no object that Java has written",
		length - stream->bytes.left);
	java_stream_destroy(stream);
	return NULL;
}

void java_stream_destroy(struct java_stream *stream)
{
	if (!stream)
		return;
	for (size_t i = 0; i < stream->count; i++) {
		free(stream->values[i]->text);
		free(stream->values[i]->members);
		free(stream->values[i]->items);
		free(stream->values[i]);
	}
	free(stream->values);
	free(stream->handles);
	free(stream);
}

const struct java_value *java_stream_root(const struct java_stream *stream)
{
	return stream->root;
}

const struct java_value *java_field(const struct java_value *object, const char *name,
				    enum java_kind kind)
{
	if (!object || object->kind != JAVA_OBJECT)
		return NULL;
	for (size_t i = 0; i < object->member_count; i++) {
		const struct java_member *member = &object->members[i];
		if (str_equal(member->name, name))
			return member->value->kind == kind ? member->value : NULL;
	}
	return NULL;
}

const char *java_text(const struct java_value *object, const char *name)
{
	const struct java_value *value = java_field(object, name, JAVA_TEXT);

	return value ? value->text : NULL;
}

bool java_number(const struct java_value *object, const char *name, int64_t *number)
{
	const struct java_value *value = java_field(object, name, JAVA_NUMBER);

	if (value)
		*number = value->number;
	return value != NULL;
}
