/*
 * One log of a task, read through its rotated parts, oldest first ("stdout.2", "stdout.1",
 * "stdout"), while it may still grow, be rotated or truncated. Who reads it may be on another
 * machine than who asks: where to read is a text, a position:
 *
 *   oldest              from the beginning of the oldest part
 *   offset:N            from byte N of the newest part; negative: from its present end
 *   tail:N              from N lines before the present end, which may lie in an older part
 *   at:PART:OFFSET      where a reader was: PART is the file's identity
 *
 * A position in a part that is gone means the oldest one there is.
 */
#ifndef TONY_JOB_LOG_READER_H
#define TONY_JOB_LOG_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	LOG_SPAN_MAX = 65536,	/* bytes */
	LOG_POSITION_SIZE = 48, /* of a position's text, with its NUL */
};

/* The file that holds the log "stdout", "stderr-1" (of a task's second process), "executor"; NULL:
 * there is no log of that name. The caller frees. */
char *log_file_name(const char *name);

bool log_position_is_valid(const char *text);

struct log_reader;

/* The file need not be there yet. Begins at the oldest part. */
struct log_reader *log_reader_create(const char *path);
void log_reader_destroy(struct log_reader *reader); /* NULL is fine */

/* -1: no such position. Ends and tails are those of now, or of when the log appears. */
int log_reader_seek(struct log_reader *reader, const char *position);
/* Where it would go on, in a buffer of LOG_POSITION_SIZE. */
void log_reader_tell(const struct log_reader *reader, char *position);

/* Some bytes of one part, written at about one time. */
struct log_span {
	const char *bytes; /* valid until the next call */
	size_t length;	   /* at least 1, at most LOG_SPAN_MAX */
	int64_t time_ms; /* when they were read from the program, to about 100 ms; 0: unknown. From
			    the index beside the file: executor/log_times.h */
	uint64_t part;
	int64_t offset;
};

/* At most `most` bytes (not 0). False: nothing more now. */
bool log_reader_next(struct log_reader *reader, size_t most, struct log_span *span);

#endif
