/*
 * The journal of a job in a store outside of its AM's container, for an AM that follows:
 *
 *   journal-<AM attempt>.jsonl
 *
 * and beside it files that change as a whole: the metrics so far, which are for the history of a
 * job whose AMs are lost, too, and queues of splits
 *
 *   metrics.jsonl splits.list splits.state
 */
#ifndef TONY_SCHEDULER_JOURNAL_COPY_H
#define TONY_SCHEDULER_JOURNAL_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct event_base;
struct scheduler_place;
struct store;

#define METRICS_COPY_CAP (64 << 20) /* bytes; more is not kept */

/* Whether this AM may write: another one may be at work. */
struct journal_writer {
	/* False: not now; it is asked again. */
	bool (*may_write)(void *data);
	void *data;
};

/* Borrowed for its life. */
struct journal_copy_options {
	struct event_base *base;
	struct store *store; /* its location is the job's directory */
	const char *journal; /* the file here, which the AM appends to */
	int am_attempt;
	struct journal_writer writer;
	/* All lines up to this one are kept; INT64_MAX: nobody should wait for it. */
	void (*kept)(void *data, int64_t sequence);
	/* The file cannot be written, also after some tries; NULL: it is written. */
	void (*troubled)(void *data, const char *text);
	void *data; /* of kept() and troubled() */
};

struct journal_copy;

struct journal_copy *journal_copy_create(const struct journal_copy_options *options,
					 struct err *err);
/* While the store is open. NULL is fine. */
void journal_copy_destroy(struct journal_copy *copy);

/* Lines up to this one are in the file. */
void journal_copy_appended(struct journal_copy *copy, int64_t sequence);

/* Writes no more; `done` is called once no write is under way, also at once. */
void journal_copy_finish(struct journal_copy *copy, void (*done)(void *data), void *data);

/* Brings the newest whole journal of the AMs before to place->journal; none: nothing. And the
 * other files to `job_dir`, if that can be done. Waits, as `store` is for: what cannot be read
 * is tried again for some minutes. */
int journal_recover(struct store *store, const char *job_dir, const struct scheduler_place *place,
		    struct err *err);

/* ---- file_copy.c -------------------------------------------------------------------------- */

enum { KEPT_FILE_COUNT = 3 };
extern const struct kept_file {
	const char *name, *what;
	int64_t cap; /* bytes; more is not kept */
} kept_files[KEPT_FILE_COUNT];

struct file_copies;

/* Borrows the store. `troubled`: as that of journal_copy_options. */
struct file_copies *file_copies_create(struct store *store, const struct journal_writer *writer,
				       void (*troubled)(void *data, const char *text), void *data);
/* As journal_copy_destroy(). */
void file_copies_destroy(struct file_copies *copies);

/* The file at `path`, which has one of these names, has changed. */
void file_copies_written(struct file_copies *copies, const char *path);

/* Writes no more. False: a write is under way, after which `done` is called. */
bool file_copies_finish(struct file_copies *copies, void (*done)(void *data), void *data);

#endif
