/*
 * The names of a job's files in its store (journal_copy.h), and notes of the lines of its journal
 * that are not in the file there yet. In HDFS a note takes one call to the NameNode, an append to
 * the file 0.4 s of a DataNode.
 *
 *   journal-<AM attempt> = "<offset>\n<bytes>", by zlib
 *
 * The bytes are those of the journal from `offset` on. The file is at least that long when the note
 * is set; a note from 0 on may come before its file.
 */
#ifndef TONY_SCHEDULER_JOURNAL_NOTE_H
#define TONY_SCHEDULER_JOURNAL_NOTE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct store_item;

enum {
	JOURNAL_NOTE_CAP = 1 << 18,	/* bytes of the journal */
	JOURNAL_NOTE_VALUE_CAP = 16000, /* bytes of the value; HDFS allows 16 KiB with the name */
};

/* "journal-2.jsonl". The caller frees. */
char *journal_copy_name(int am_attempt);

/* The caller frees. */
char *journal_note_name(int am_attempt);
/* -1: the value would be too large. */
int journal_note_encode(int64_t offset, const char *bytes, size_t length, struct str *value);

/* The journals of the AMs before `before` in the job's directory: first its notes are visited, then
 * its files, so that no file is shorter than its note supposes. */
struct journal_found {
	int before;

	int attempt;	/* whose journal is the newest; 0: there is none */
	int64_t length; /* bytes in the file; -1: there is none */
	int note_attempt;
	int64_t offset;
	struct str bytes;
};
void journal_found_finish(struct journal_found *found);
#define cleanup_journal_found __attribute__((cleanup(journal_found_finish)))

void journal_found_note(void *found, const char *name, const char *bytes, size_t length);
void journal_found_file(void *found, const struct store_item *item);

/* What the journal has behind the file's `length` bytes; "": nothing. Borrowed. */
const char *journal_found_rest(const struct journal_found *found, int64_t length,
			       size_t *rest_length);

#endif
