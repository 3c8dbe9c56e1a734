/*
 * The journal: every event that changes a job, appended to one file, one JSON object a line:
 *
 *   {"seq":17,"t":1795241651123,"ev":"task", ... ,"crc":"89abcdef"}
 *
 * `seq` counts 1, 2, 3 ... without a gap; `t` is wall-clock ms; both stand first, in this order.
 * `"more":true` follows them where the next line belongs to the same event: the lines of one event
 * count together or not at all. `crc` stands last: CRC-32C (Castagnoli), 8 lower-case hex digits,
 * of all bytes of the line before `,"crc":`. What the other members mean is record.h's business.
 *
 * A line is there when its newline and checksum are, and those of all lines of its event: what was
 * written last may be torn by a crash, and is then not there. A bad line before the last one is an
 * error.
 */
#ifndef TONY_JOB_JOURNAL_H
#define TONY_JOB_JOURNAL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define JOURNAL_LINE_CAP (4u << 20) /* bytes of one line, newline included */

/* ---- writing ------------------------------------------------------------------------------ */

struct journal;

/* Creates the file (0600) or goes on where it ends; a torn end is cut off. Fails when a line
 * before is bad (naming it) and when another process has the journal open for writing, for whose
 * end it waits up to 3 s. */
struct journal *journal_open(const char *path, struct err *err);
void journal_close(struct journal *journal); /* NULL is fine */

/* From now on the lines of an append that fails (disk full ...) are held in memory, in order and at
 * most `cap` bytes of them: each later append writes them before its own. */
void journal_hold(struct journal *journal, size_t cap);
/* Forgets the lines that are held: nobody has seen them, and their numbers are free again. */
void journal_drop_held(struct journal *journal);

/* Appends one record (stolen) and returns 0; with `sync` it is on the disk then. On failure nothing
 * of it is in the file: 1, with `err` set, the lines are held; -1: they are lost, and a later
 * append may succeed. */
int journal_append(struct journal *journal, json_t *record, int64_t time_ms, bool sync,
		   struct err *err);

/* The same for the `count` records, at least one, of one event: all or none of them are there. Each
 * is made as its line is written: thousands of tasks may change by one event. */
typedef json_t *journal_make(void *data, size_t number);
int journal_append_all(struct journal *journal, size_t count, journal_make *make, void *data,
		       int64_t time_ms, bool sync, struct err *err);

/* All that was appended is on the disk then. */
int journal_sync(struct journal *journal, struct err *err);

/* The last line's `seq`; 0 in an empty journal. */
int64_t journal_sequence(const struct journal *journal);

/* ---- reading ------------------------------------------------------------------------------ */

struct journal_line {
	int64_t sequence;
	int64_t time_ms;
	bool more;	  /* the next line belongs to the same event */
	const char *text; /* the line without its newline; not NUL-terminated; borrowed */
	size_t length;
};

/* Checks the frame: head, tail and checksum. */
int journal_parse_line(const char *bytes, size_t length, struct journal_line *line,
		       struct err *err);

/* The line as JSON. */
json_t *journal_line_record(const struct journal_line *line, struct err *err);

/* Follows a journal while it grows, from sequence number `since` on. */
struct journal_reader;
struct journal_reader *journal_reader_open(const char *path, int64_t since, struct err *err);
void journal_reader_close(struct journal_reader *reader); /* NULL is fine */

/* 1: `line` is the next one, valid until the next call, and all of its event is there; 0: nothing
 * more yet; -1: a bad line (`err`
 * has its number) or a read error. Never blocks. */
int journal_reader_next(struct journal_reader *reader, struct journal_line *line, struct err *err);

/* Gives back the descriptor and the memory until the next line is asked for, which is read from the
 * file that has the name then. */
void journal_reader_rest(struct journal_reader *reader);

/* Back to the file's first line, also of a file that was removed since. */
void journal_reader_rewind(struct journal_reader *reader);

/* Where the next line will begin, in bytes. */
int64_t journal_reader_offset(const struct journal_reader *reader);

/* Calls `visit` for every line from `since` on, until it returns other than 0. Returns what it
 * returned last, or -1 with `err`. NULL: the lines are only checked. */
typedef int journal_visit(void *data, const struct journal_line *line, struct err *err);
int journal_read(const char *path, int64_t since, journal_visit *visit, void *data,
		 struct err *err);

/* The last line of a journal, be its event whole or not, without reading the others; its text is in
 * *text, which the caller frees. False when there is none, or it is longer than 64 KiB. */
bool journal_read_last(const char *path, char **text, struct journal_line *line);

#endif
