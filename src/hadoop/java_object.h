/*
 * An object as Java's ObjectOutputStream wrote it (Java Object Serialization Specification,
 * protocol version 2): its fields by name, and the objects that its class writes by itself, as a
 * list or a map does its elements. Nothing of it is run: a class is a name and a list of fields.
 * Bare bytes that a class writes are passed over. Not read: arrays, proxies, classes that write by
 * themselves alone (Externalizable), and exceptions within a stream.
 */
#ifndef TONY_HADOOP_JAVA_OBJECT_H
#define TONY_HADOOP_JAVA_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define JAVA_DEPTH_CAP 64 /* of objects within objects */

enum java_kind { JAVA_NULL, JAVA_NUMBER, JAVA_TEXT, JAVA_OBJECT, JAVA_CLASS };

struct java_value {
	enum java_kind kind;
	int64_t number; /* of fields that are no objects; of a float or double the bits */
	char *text;	/* without a NUL; of a class, its name */
	/* Of an object its fields, those of the uppermost class first; of a class what they are. */
	struct java_member *members;
	size_t member_count;
	/* Of an object, in the order in which it wrote them: of a map key, value, key, value ... */
	const struct java_value **items;
	size_t item_count;
	unsigned char flags;		 /* of a class */
	const struct java_value *parent; /* of a class; NULL: none */
};

struct java_member {
	const char *name;
	char type;
	const struct java_value *value;
};

struct java_stream;

/* ERR_INPUT: it is none, or one that this does not read. The bytes are not needed afterwards. */
struct java_stream *java_stream_read(const void *bytes, size_t length, struct err *err);
void java_stream_destroy(struct java_stream *stream); /* NULL is fine */

/* The one object that was written. */
const struct java_value *java_stream_root(const struct java_stream *stream);

/* Of an object; NULL: it has none of that name and kind. `object` may be NULL. */
const struct java_value *java_field(const struct java_value *object, const char *name,
				    enum java_kind kind);
const char *java_text(const struct java_value *object, const char *name); /* likewise */
bool java_number(const struct java_value *object, const char *name, int64_t *number);

#endif
