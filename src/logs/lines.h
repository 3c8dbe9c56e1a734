/* A log line by line. */
#ifndef TONY_LOGS_LINES_H
#define TONY_LOGS_LINES_H

#include "logs/source.h"

#define LOG_LINE_CAP 65536 /* a longer line is told in pieces, each of whole characters */

/* Of the memory of a log that rests, at most. */
#define LOG_REST_BYTES 5120

struct log_line {
	/* Without newline, which stands behind it if there is one; not NUL-terminated; valid until
	 * the next call. */
	const char *text;
	size_t length;
	bool has_newline; /* false: a piece of a longer line, or the last one of a part */
	bool goes_on;	  /* what comes next of its log is the rest of the line */
	bool continues;	  /* it is such a rest */
	bool is_open;	 /* it stands at the present end of a log that grows: more of it may come */
	int64_t time_ms; /* of its first byte, as in struct log_span, and so are these: */
	uint64_t part;
	int64_t offset;
};

struct log_lines;
struct log_lines *log_lines_create(struct log_source *source); /* takes it */
void log_lines_destroy(struct log_lines *lines);	       /* NULL is fine */

/* False: no (whole) line now. With `to_the_end`, or where the log does not grow, a last line
 * without a newline counts too. */
bool log_lines_next(struct log_lines *lines, bool to_the_end, struct log_line *line);

/* The line that was begun and has no newline yet, or the rest of it, after log_lines_next() has
 * returned false; false: there is none. */
bool log_lines_begun(const struct log_lines *lines, struct log_line *line);
/* Tells that as a piece of a line that goes on. */
bool log_lines_take_begun(struct log_lines *lines, struct log_line *line);

/* Closes what the log holds open, until the next call. `told`: the line that was told last, and is
 * to stay valid; NULL: none is. True: the line and what else took much memory was forgotten, and
 * that line comes next. */
bool log_lines_rest(struct log_lines *lines, const struct log_line *told);

/* The position behind the last line that was told, in a buffer of LOG_POSITION_SIZE. */
void log_lines_tell(const struct log_lines *lines, char *position);
/* Goes on elsewhere, without the line that was begun. */
void log_lines_go(struct log_lines *lines, const struct log_position *position);

#endif
