/*
 * A note of the lines of a job's journal on YARN that are not in its file in HDFS yet: an extended
 * attribute of the job's directory. It takes one call to the NameNode, an append to the file 0.4 s
 * of a DataNode.
 *
 *   user.tony.journal-<AM attempt> = "<offset>\n<bytes>", by zlib
 *
 * The bytes are those of the journal from `offset` on. The file is at least that long when the
 * attribute is set; an attribute from 0 on may come before its file.
 */
#ifndef TONY_SCHEDULER_YARN_NOTE_H
#define TONY_SCHEDULER_YARN_NOTE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct webhdfs_file;

enum {
	YARN_NOTE_CAP = 1 << 18,     /* bytes of the journal */
	YARN_NOTE_VALUE_CAP = 16000, /* bytes of the value; HDFS allows 16 KiB with the name */
};

/* The caller frees both. The value is in hex, "0x789c...", NULL if it would be too large. */
char *yarn_note_name(int am_attempt);
char *yarn_note_encode(int64_t offset, const char *bytes, size_t length);

/* What is found of the AMs before `before` in the job's directory: first its attributes are
 * visited, then its files, so that no file is shorter than its attribute supposes. */
struct yarn_found {
	int before;

	int attempt;	/* whose journal is the newest; 0: there is none */
	int64_t length; /* bytes in the file; -1: there is none */
	int note_attempt;
	int64_t offset;
	struct str bytes;
};
void yarn_found_finish(struct yarn_found *found);
#define cleanup_yarn_found __attribute__((cleanup(yarn_found_finish)))

void yarn_found_attribute(void *found, const char *name, const char *value);
void yarn_found_file(void *found, const struct webhdfs_file *file);

/* What the journal has behind the file's `length` bytes; "": nothing. Borrowed. */
const char *yarn_found_rest(const struct yarn_found *found, int64_t length, size_t *rest_length);

#endif
