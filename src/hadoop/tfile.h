/*
 * Reading a TFile (Hadoop's io.file.tfile.TFile, version 1 in a BCFile of version 1): blocks of
 * keys and values, and an index at the end. Only the index is held in memory (at most
 * TFILE_INDEX_CAP bytes as it is stored); values of any size are read as streams.
 *
 * At the end of the file stand the place of the list of its parts (8 bytes), BCFile's version (2 x
 * 2 bytes) and 16 bytes that every BCFile has. Of the parts "BCFile.index" lists the blocks,
 * "TFile.index" the last key and the number of entries of each, "TFile.meta" begins with TFile's
 * version. A block is its entries one after the other: key length, key, and the value as chunks,
 * each behind its length, which is negative for all but the last one.
 */
#ifndef TONY_HADOOP_TFILE_H
#define TONY_HADOOP_TFILE_H

#include <sys/types.h>

#include "hadoop/tfile_block.h"

#define TFILE_INDEX_CAP (32u << 20)
#define TFILE_BLOCK_MAX (1 << 18)   /* a block ends after 256 KiB at the earliest */
#define TFILE_KEY_CAP	(64u << 10) /* bytes, as Hadoop has it */

struct tfile;

/* ERR_NOT_FOUND: it is no TFile, or not finished; ERR_INPUT: one that this cannot read. `input` is
 * copied, without its name and what its `data` points to: both are to outlive the file. */
struct tfile *tfile_open(const struct tfile_input *input, struct err *err);
void tfile_close(struct tfile *file); /* NULL is fine */

/* ---- a place in it ------------------------------------------------------------------------ */

/* Where in a value a cursor is. */
struct tfile_position {
	size_t block;
	int64_t offset;	      /* of unpacked bytes in the block */
	int64_t left;	      /* of the present chunk */
	bool is_last;	      /* that is the value's last chunk */
	int64_t entries_left; /* of the block, behind this one */
};

struct tfile_cursor; /* one block's buffers; any number of them may read one file */

/* Stands before the first entry. */
struct tfile_cursor *tfile_cursor_create(const struct tfile *file);
void tfile_cursor_destroy(struct tfile_cursor *cursor); /* NULL is fine */

/* Goes on to the next entry, at the beginning of its value: 1; 0: there is none; -1: error. */
int tfile_cursor_next(struct tfile_cursor *cursor, struct err *err);
/* Goes to the first entry with this key, past blocks that cannot hold it: 1, 0 or -1 as above. */
int tfile_cursor_find(struct tfile_cursor *cursor, const void *key, size_t length, struct err *err);
/* The present entry's; valid until the cursor moves to another. */
struct tfile_bytes tfile_cursor_key(const struct tfile_cursor *cursor);

/* Up to `length` bytes of the present value; 0: it ends here; -1: error. */
ssize_t tfile_cursor_read(struct tfile_cursor *cursor, void *bytes, size_t length, struct err *err);
/* Passes over up to `length` bytes of it; the number of those there were, or -1. */
int64_t tfile_cursor_skip(struct tfile_cursor *cursor, int64_t length, struct err *err);

struct tfile_position tfile_cursor_tell(const struct tfile_cursor *cursor);
/* Back to (or on to) a place of the same file, within a value; the key is not known there. */
int tfile_cursor_seek(struct tfile_cursor *cursor, const struct tfile_position *position,
		      struct err *err);

#endif
