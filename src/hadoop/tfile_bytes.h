/*
 * The small pieces that TFile and BCFile are written in (Hadoop's io.file.tfile.Utils): numbers of
 * 1 to 9 bytes, texts and regions. Everything is read out of (pointer, length).
 */
#ifndef TONY_HADOOP_TFILE_BYTES_H
#define TONY_HADOOP_TFILE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is left to be parsed. A failed call leaves it where it was. */
struct tfile_bytes {
	const unsigned char *at;
	size_t left;
};

/* How many bytes a number has whose first one is this: 1 to 9; 0: no number begins so. */
size_t tfile_number_size(unsigned char first);
/* The number in tfile_number_size(bytes[0]) bytes, which is not 0. */
int64_t tfile_number_decode(const unsigned char *bytes);

bool tfile_take_number(struct tfile_bytes *bytes, int64_t *value);
/* A number within [min, max]. */
bool tfile_take_range(struct tfile_bytes *bytes, int64_t min, int64_t max, int64_t *value);
/* `length` bytes as they are. */
bool tfile_take_bytes(struct tfile_bytes *bytes, size_t length, struct tfile_bytes *part);
/* A length of at most `cap`, and so many bytes. */
bool tfile_take_counted(struct tfile_bytes *bytes, size_t cap, struct tfile_bytes *part);
/* The same as text, which the caller frees; NULL: it does not fit, or holds a NUL. */
char *tfile_take_text(struct tfile_bytes *bytes, size_t cap);

/* A block of the file: `stored` bytes from `offset` on, which are `raw` bytes when unpacked. None
 * is negative, and offset + stored does not overflow. */
struct tfile_region {
	int64_t offset, stored, raw;
};
bool tfile_take_region(struct tfile_bytes *bytes, struct tfile_region *region);

#endif
