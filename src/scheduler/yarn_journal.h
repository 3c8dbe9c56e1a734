/*
 * The journal of a job on YARN outside of its AM's container, for an AM that follows.
 *
 *   <home>/.tony/<application id>/journal-<AM attempt>.jsonl
 *
 * and beside it the metrics so far, for the history of a job whose AMs are lost:
 *
 *   <home>/.tony/<application id>/metrics.jsonl
 */
#ifndef TONY_SCHEDULER_YARN_JOURNAL_H
#define TONY_SCHEDULER_YARN_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct event_base;
struct job;
struct scheduler_place;
struct webhdfs_options;

#define YARN_METRICS_CAP (64 << 20) /* bytes; more is not kept */

/* The caller frees. */
char *yarn_journal_path(const char *directory, int am_attempt);
int yarn_journal_attempt(const char *name); /* of a file in the directory; 0: it is none */

/* Borrowed for its life, but for `hdfs`. */
struct yarn_journal_options {
	struct event_base *base;
	const struct webhdfs_options *hdfs;
	const char *directory; /* the job's, in HDFS */
	const char *journal;   /* the file here, which the AM appends to */
	int am_attempt;
	/* False: not now; it is asked again. */
	bool (*may_write)(void *data);
	/* All lines up to this one are kept; INT64_MAX: nobody should wait for it. */
	void (*kept)(void *data, int64_t sequence);
	void *data;
};

struct yarn_journal;

struct yarn_journal *yarn_journal_create(const struct yarn_journal_options *options,
					 struct err *err);
void yarn_journal_destroy(struct yarn_journal *journal); /* NULL is fine */

/* Lines up to this one are in the file. */
void yarn_journal_appended(struct yarn_journal *journal, int64_t sequence);

/* The NameNode that answered last; NULL without a journal. Borrowed. */
const char *yarn_journal_namenode(const struct yarn_journal *journal);

/* Writes no more; `done` is called once no write is under way, also at once. */
void yarn_journal_finish(struct yarn_journal *journal, void (*done)(void *data), void *data);

/* Brings the newest whole journal of the AMs before to place->journal; none: nothing. And the
 * metrics so far to `job_dir`, if that can be done. Waits. */
int yarn_journal_recover(const struct job *job, const char *job_dir,
			 const struct scheduler_place *place, struct err *err);

#endif
