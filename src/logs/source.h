/*
 * One log of a task, wherever it is: a file of this machine (logs/file.h), what the job's AM sends
 * (logs/live.h), what a history (history/stored_logs.h), or YARN (logs/yarn.h) keeps. It is read in
 * spans, from a position; lines (logs/lines.h) and frames (logs/frame.h) are made of these.
 */
#ifndef TONY_LOGS_SOURCE_H
#define TONY_LOGS_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "logs/position.h"

#define LOG_SPAN_MAX 65536 /* bytes */

/* Bytes that a source reads before others have their turn, where it takes turns. */
#define LOG_TURN (256 << 10)

/* Some bytes of one part, written at about one time. */
struct log_span {
	const char *bytes; /* valid until the next call */
	size_t length;	   /* at least 1, at most LOG_SPAN_MAX */
	int64_t time_ms; /* when they were read from the program, to about 100 ms; 0: unknown. From
			    the index beside the file: executor/log_times.h */
	uint64_t part;
	int64_t offset;
};

/* The first member of each source's own struct. */
struct log_source {
	const struct log_source_ops *ops;
	int attempt;	  /* of the task, whose log it is; 0: not known */
	int64_t cut;	  /* bytes that stood before these, and were not kept */
	char *problem;	  /* why it could not be read on; NULL: none. Owned */
	size_t held;	  /* bytes of memory that it has read ahead */
	bool is_away;	  /* since the AM that has the log does not answer */
	bool takes_turns; /* set by its reader, an event loop, which looks at this: */
	bool is_busy;	  /* nothing came, but there may be more now: it has had its turn */
	/* Of a filter (logs/filter.h), set by its reader. */
	bool takes_begun; /* a line without a newline at the present end counts as one: it is the
			     last until the reader goes elsewhere, and the place that is told
			     stands before it, since it counts once more when it is whole */
	bool is_over;	  /* told by it: that line was the last one */
};

struct log_source_ops {
	bool grows;	  /* what is there is not all: more may come */
	bool joins_parts; /* a part goes on where the one before it ended, within a line maybe */
	/* As log_source_next() and log_source_go(). */
	bool (*next)(struct log_source *source, size_t most, struct log_span *span);
	void (*go)(struct log_source *source, const struct log_position *position);
	/* As log_source_rest(). NULL: it holds nothing, or cannot. */
	void (*rest)(struct log_source *source);
	/* NULL: it is not known. */
	void (*tell)(const struct log_source *source, char *position);
	/* NULL: it is known elsewhere only. */
	int64_t (*length)(struct log_source *source);
	void (*destroy)(struct log_source *source); /* frees the struct */
};

void log_source_destroy(struct log_source *source); /* NULL is fine */

/* At most `most` bytes (not 0). False: nothing more now. */
bool log_source_next(struct log_source *source, size_t most, struct log_span *span);

/* Closes what it holds open, until the next call, which opens it again: descriptors are few, and
 * thousands of logs may be read side by side. Bytes that it has told stay valid. */
void log_source_rest(struct log_source *source);

/* Ends and tails are those of now, or of when the log appears. A position in a part that is gone
 * means the oldest one there is. Without it reading begins at the oldest part. */
void log_source_go(struct log_source *source, const struct log_position *position);
/* -1: no such position. */
int log_source_seek(struct log_source *source, const char *position);
/* Where reading goes on, in a buffer of LOG_POSITION_SIZE: of a file, and of a filter of one; an
 * empty text where it is not known. */
void log_source_tell(const struct log_source *source, char *position);

/* Bytes of all parts that are there now; -1: it is not known here. */
int64_t log_source_length(struct log_source *source);

#endif
