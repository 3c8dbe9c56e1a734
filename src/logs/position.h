/*
 * Where in a log reading goes on: a text, as the reader may be on another machine than the log.
 *
 *   oldest              from the beginning of the oldest part
 *   offset:N            from byte N of the newest part; negative: from its present end
 *   tail:N              from N lines before the present end, which may lie in an older part
 *   at:PART:OFFSET      where a reader was: PART is the part's identity, in hex
 */
#ifndef TONY_LOGS_POSITION_H
#define TONY_LOGS_POSITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define LOG_POSITION_SIZE 48 /* of a position's text, with its NUL */

struct log_position {
	enum {
		LOG_AT_OLDEST,
		LOG_AT_OFFSET,
		LOG_AT_TAIL,
		LOG_AT_PART,
		LOG_AT_LAST, /* so many bytes before the present end; has no text */
	} kind;
	uint64_t part;
	int64_t number;
};

/* -1: it is none. */
int log_position_parse(const char *text, struct log_position *position);
bool log_position_is_valid(const char *text);
/* In a buffer of LOG_POSITION_SIZE. */
void log_position_format(const struct log_position *position, char *text);

/* Up to `length` bytes; 0: it ends before; negative: it cannot be read. */
typedef ssize_t log_read_at(void *data, int64_t offset, void *bytes, size_t length);

/* Where the end of a log begins of which a position says how long it is, in lines or in bytes: it
 * is looked for in one part after the other, the newest first. Parts are read forwards from few
 * places: one that is packed has to be read from its beginning. */
struct log_tail {
	int64_t missing;  /* lines, or bytes, that lie in older parts */
	int64_t position; /* in the part, where the end begins; 0 if something is missing */
	/* Its own. */
	bool in_lines;
	int64_t length, start,
		offset;	    /* of the part; of the bytes being counted; of those to come */
	int64_t ends, most; /* of lines: counted, and to be counted */
};
/* `position`: LOG_AT_TAIL or LOG_AT_LAST. */
void log_tail_begin(struct log_tail *tail, const struct log_position *position);
/* Goes on in a part of so many bytes. */
void log_tail_enter(struct log_tail *tail, int64_t length);
/* Reads at most `most` bytes (not 0). False: it has not found it yet, and goes on there. */
bool log_tail_find(struct log_tail *tail, log_read_at *read, void *data, int64_t most);

#endif
