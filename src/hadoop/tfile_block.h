/*
 * The bytes of one block of a BCFile (Hadoop's io.file.tfile.BCFile), unpacked, from the front to
 * the back, with a bounded buffer and without the rest of the file.
 */
#ifndef TONY_HADOOP_TFILE_BLOCK_H
#define TONY_HADOOP_TFILE_BLOCK_H

#include "base/err.h"
#include "hadoop/tfile_bytes.h"

#define TFILE_WINDOW (256u << 10) /* bytes: the most that a block holds of its file */

/* A file, wherever it is. */
struct tfile_input {
	const char *name; /* for messages */
	int64_t length;
	void *data;
	/* Reads exactly `length` bytes, all of which lie within the file. */
	int (*read)(void *data, int64_t offset, void *bytes, size_t length, struct err *err);
};

/* "gz" is what Hadoop calls it; it is zlib's format (RFC 1950). */
enum tfile_compression { TFILE_NONE, TFILE_GZ };

/* "none" and "gz". ERR_INPUT names what cannot be read, "lzo" with its remedy. */
int tfile_compression_parse(const char *name, enum tfile_compression *compression, struct err *err);

struct tfile_block;

/* Nothing is read yet. The region lies within the input, which is to outlive the block. Its `raw`
 * size is not looked at: Hadoop's writers stop counting at 2 GiB. */
struct tfile_block *tfile_block_open(const struct tfile_input *input,
				     const struct tfile_region *region,
				     enum tfile_compression compression);
void tfile_block_close(struct tfile_block *block); /* NULL is fine */

/* Exactly so many bytes; ERR_INPUT: there are fewer left, or they cannot be unpacked. */
int tfile_block_read(struct tfile_block *block, void *bytes, size_t length, struct err *err);
/* As a read of so many bytes; of an unpacked block they are not fetched. */
int tfile_block_skip(struct tfile_block *block, int64_t length, struct err *err);
int tfile_block_read_number(struct tfile_block *block, int64_t *value, struct err *err);

/* Unpacked bytes that were read or skipped so far. */
int64_t tfile_block_offset(const struct tfile_block *block);

#endif
