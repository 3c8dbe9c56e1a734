/*
 * One log of a task, read line by line through its rotated parts, oldest first ("stdout.2",
 * "stdout.1", "stdout"): a file that may still grow and be rotated, or what a cluster has kept.
 */
#ifndef TONY_CLIENT_LOG_SOURCE_H
#define TONY_CLIENT_LOG_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOG_LINE_CAP 65536 /* a longer line is told in pieces */

struct log_source;
struct job_log;

/* The file need not be there yet. */
struct log_source *log_source_create(const char *path);
/* The log of a container that has ended, which is taken. */
struct log_source *log_source_kept(struct job_log *log);
void log_source_destroy(struct log_source *source); /* NULL is fine */

/* Starts `lines` lines before the present end. */
void log_source_seek_tail(struct log_source *source, int64_t lines);

struct log_line {
	const char *text; /* without newline, not NUL-terminated; valid until the next call */
	size_t length;
	bool has_newline; /* false: a piece of a longer line, or the last one of a file */
	int64_t time_ms;  /* when its first byte was read from the program, to about 100 ms; 0:
			     unknown. From the index beside the file: executor/log_times.h */
};

/* False: no (whole) line now. With `to_the_end` a last line without a newline counts too. */
bool log_source_next(struct log_source *source, bool to_the_end, struct log_line *line);

/* The line that was begun and has no newline yet, after log_source_next() has returned false;
 * false: there is none. */
bool log_source_begun(const struct log_source *source, struct log_line *line);

/* Why there are no more lines although there may be; NULL: no such thing. */
const char *log_source_problem(const struct log_source *source);
/* It is that the AM, which has the log, does not answer: it is being replaced, or its job has just
 * ended. */
bool log_source_is_away(const struct log_source *source);

#endif
