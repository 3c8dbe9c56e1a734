/* Writes TFiles into memory, for what a cluster does not write on demand; and reads them there. */
#ifndef TONY_TEST_UNIT_HADOOP_TFILE_MAKER_H
#define TONY_TEST_UNIT_HADOOP_TFILE_MAKER_H

#include "base/str.h"
#include "hadoop/tfile.h"

struct tfile_maker {
	const char *compression; /* "none" unless it was set */
	struct str file;
	struct str block, regions, keys; /* of the present block, and for the indexes */
	struct str last_key;
	int64_t blocks, entries; /* the latter of the present block */
	int64_t told_raw;	 /* what the index says of each block's raw size; 0: the truth */
};

void tfile_maker_begin(struct tfile_maker *maker);
/* A value in chunks of this many bytes. */
void tfile_maker_add(struct tfile_maker *maker, const char *key, const char *value, size_t length,
		     size_t chunk);
void tfile_maker_end_block(struct tfile_maker *maker);
/* Ends the last block and the file. */
void tfile_maker_end(struct tfile_maker *maker);
void tfile_maker_finish(struct tfile_maker *maker);

/* A container's value: as java.io.DataOutput.writeUTF(). */
void tfile_maker_utf(struct str *value, const char *text);
void tfile_maker_log(struct str *value, const char *name, const char *text, size_t length);

void tfile_maker_number(struct str *bytes, int64_t number);

/* An input that notes how it is read. */
struct tfile_memory {
	struct tfile_input input;
	const char *bytes;
	size_t longest_read;
	int64_t bytes_read;
};
void tfile_memory_init(struct tfile_memory *memory, const void *bytes, size_t length);

#endif
