/*
 * One part of a log, with the index of times beside it (executor/log_times.h): its bytes on their
 * way out, in spans that were written at about one time.
 */
#ifndef TONY_LOGS_PART_H
#define TONY_LOGS_PART_H

#include "logs/position.h"
#include "logs/source.h"

/* Initialise with {0}. */
struct log_part {
	log_read_at *read, *read_times; /* read_times: NULL: there is no index */
	void *data;			/* of both */
	uint64_t id;
	int64_t offset; /* of buffer[start] in the part */
	char *buffer;	/* NULL until there is something to read */
	size_t size;	/* of it: LOG_SPAN_MAX where there is much to read */
	size_t start, end;
	struct log_index {
		char bytes[256]; /* what was read of it and is no whole line yet */
		size_t length;
		int64_t offset;	 /* behind them */
		int64_t time;	 /* of the last entry passed, which may be of an earlier part */
		int64_t next_ms; /* of the entry after that */
		int64_t next;	 /* where that begins; INT64_MAX: there was none */
		bool may_grow;	 /* the part was read since the index's end was met */
	} index;
};
#define LOG_FROM_MAX 32 /* bytes of a line "from N" */
/* How many bytes stood before a part, as the beginning of its index says; 0: none, or they are
 * there. */
int64_t log_part_from(const char *index, size_t length);

void log_part_finish(struct log_part *part);

/* Goes on with another part, or elsewhere in this one. `part` has read, read_times and data. */
void log_part_begin(struct log_part *part, uint64_t id, int64_t offset);

/* Gives the memory of what was read back. */
void log_part_forget(struct log_part *part);

/* Reads on. False: no more for now. */
bool log_part_fill(struct log_part *part);
/* A span of what was read, at most `most` bytes (not 0). False: all of that is out. */
bool log_part_take(struct log_part *part, size_t most, struct log_span *span);

#endif
