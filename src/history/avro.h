/*
 * Avro object container files (Apache Avro 1.11, "Object Container Files"), read by the schema that
 * they bring along; codecs null and deflate. Every record is told as JSON:
 *
 *   record            object, with its name without namespace in member "$record"
 *   enum              its symbol
 *   union             the value alone
 *   array, map        array, object
 *   string            text, made printable; bytes and fixed: null
 *   int, long         whole number; float, double: number (null when it is none or infinite)
 *
 * The bytes may be anybody's: sizes, depth and the number of values are bounded.
 */
#ifndef TONY_HISTORY_AVRO_H
#define TONY_HISTORY_AVRO_H

#include <jansson.h>
#include <stddef.h>

#include "base/err.h"

#define AVRO_FILE_CAP  ((size_t)64 << 20) /* bytes of a file */
#define AVRO_BLOCK_CAP ((size_t)64 << 20) /* of a block once it is inflated */
#define AVRO_VALUE_CAP                                                                             \
	4000000 /* values in a file, records and items included; a block                           \
		 * of few bytes has fewer */

/* Calls `visit` for every record, which borrows it, until that returns other than 0, which is then
 * returned. -1: `err` (ERR_INPUT); the records before the flaw were visited. A file whose last
 * block is cut off, because its writer was killed or is not done, has that flaw. */
int avro_read(const void *bytes, size_t length,
	      int (*visit)(void *data, const json_t *record, struct err *err), void *data,
	      struct err *err);

#endif
