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

/* Where the last *lines lines of `length` bytes begin; *lines becomes what is still missing before
 * them. Reads forwards from few places: a part that is packed has to be read from its beginning. */
int64_t log_find_tail(log_read_at *read, void *data, int64_t length, int64_t *lines);

#endif
