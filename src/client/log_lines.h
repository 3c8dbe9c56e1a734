/* For log sources: lines out of bytes that come piece by piece, and when they were written. */
#ifndef TONY_CLIENT_LOG_LINES_H
#define TONY_CLIENT_LOG_LINES_H

#include <stdio.h>
#include <sys/types.h>

#include "client/log_source.h"

/* What every source begins with. */
struct log_source {
	const struct log_source_ops *ops;
	struct log_lines {
		char *buffer; /* of LOG_LINE_CAP bytes; NULL until there is something to read */
		size_t start, end;
		int64_t offset;	      /* of buffer[start] in the present part */
		FILE *times;	      /* the part's index: lines "time_ms offset"; NULL: none */
		int64_t time;	      /* of the last index entry passed */
		int64_t entry_time;   /* of the entry after that */
		int64_t entry_offset; /* INT64_MAX: there was none */
		bool times_may_grow;  /* the part was read since the index's end was met */
	} lines;
	char *problem; /* why it could not be read on; NULL: none */
	bool is_away;  /* since the AM that has the log does not answer */
};

struct log_source_ops {
	/* The next bytes of the present part; 0 or less: none now. */
	ssize_t (*read)(struct log_source *source, char *bytes, size_t length);
	bool (*next)(struct log_source *source, bool to_the_end, struct log_line *line);
	bool (*begun)(const struct log_source *source, struct log_line *line);
	void (*seek_tail)(struct log_source *source, int64_t lines);
	void (*destroy)(struct log_source *source); /* frees the struct, not `lines` */
};

/* A new part is read from `offset` on; `times` is taken. */
void log_lines_begin(struct log_source *source, int64_t offset, FILE *times);

/* A line of the present part: one that is there already, or after reading more. */
bool log_lines_next(struct log_source *source, struct log_line *line);
/* What is left behind the last newline, of a part that gets no more. */
bool log_lines_rest(struct log_source *source, struct log_line *line);
/* The same while it may get more: it is not taken. */
bool log_lines_begun(const struct log_source *source, struct log_line *line);

#endif
