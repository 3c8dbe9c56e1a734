/*
 * Hadoop's Writable: numbers of one to nine bytes, and bytes with such a number for their length
 * before them (WritableUtils and Text of org.apache.hadoop.io).
 */
#ifndef TONY_HADOOP_WRITABLE_H
#define TONY_HADOOP_WRITABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* What is left to be read. */
struct writable {
	const unsigned char *at;
	size_t left;
};

/* False: what is left is no such thing, or too short; then nothing is taken. */
bool writable_take_number(struct writable *from, int64_t *value);
/* A number of 0 to `cap`. */
bool writable_take_count(struct writable *from, size_t cap, size_t *count);
/* Points into what is read. */
bool writable_take_bytes(struct writable *from, const unsigned char **bytes, size_t *length);
/* Bytes that are UTF-8 without NUL; the caller frees. */
bool writable_take_text(struct writable *from, char **text);

void writable_put_number(struct str *out, int64_t value);
void writable_put_bytes(struct str *out, const void *bytes, size_t length);
void writable_put_text(struct str *out, const char *text);

#endif
