/*
 * What was put into a store, and taken out of it, in a file for the AM that follows. A change is
 *
 *   checksum (CRC-32C of what follows), operation (1: put, 2: delete), length of the key, length
 *   of the value: 4 bytes each, little-endian; the key; the value
 *
 * What was written last may be torn by a crash, and is then not there.
 */
#ifndef TONY_AM_KV_FILE_H
#define TONY_AM_KV_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "am/kv.h"
#include "base/err.h"
#include "base/str.h"

struct kv_change {
	bool is_put;
	char key[KV_KEY_MAX + 1];
	const void *value; /* borrowed; of a delete NULL */
	size_t length;
};

void kv_change_append(const struct kv_change *change, struct str *bytes);
/* How many bytes the first change takes; 0: there is none, or none that is whole. */
size_t kv_change_parse(const void *bytes, size_t length, struct kv_change *change);

struct kv_file;

/* Does to `kv` what the file tells, and cuts off a torn end. A file that is not there is made. */
struct kv_file *kv_file_open(const char *path, struct kv *kv, struct err *err);
void kv_file_close(struct kv_file *file); /* NULL is fine */

/* Adds a change that was made in `kv`. When most of the file is of no use any more it is written
 * anew. */
int kv_file_add(struct kv_file *file, const struct kv_change *change, const struct kv *kv,
		struct err *err);
/* As `kv` is now. -1: the file is what it was. After a change that could not be added no other is,
 * until this has been done. */
int kv_file_write_anew(struct kv_file *file, const struct kv *kv, struct err *err);

#endif
