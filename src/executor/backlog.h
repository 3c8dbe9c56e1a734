/*
 * Output that could not be written yet: its newest whole lines, at most BACKLOG_CAP bytes. Older
 * ones are dropped, and counted.
 */
#ifndef TONY_EXECUTOR_BACKLOG_H
#define TONY_EXECUTOR_BACKLOG_H

#include <stddef.h>
#include <stdint.h>

#define BACKLOG_CAP (256 * 1024) /* bytes */

struct backlog_count {
	int64_t lines, bytes;
};

struct backlog {
	char *bytes; /* NULL until something is kept */
	size_t length;
	struct backlog_count dropped; /* since the caller set it to {0} */
};

void backlog_add(struct backlog *backlog, const char *bytes, size_t length);
/* The first `length` bytes were written. */
void backlog_take(struct backlog *backlog, size_t length);
/* All that is kept is dropped, too. */
void backlog_drop(struct backlog *backlog);
void backlog_finish(struct backlog *backlog);

void backlog_count_add(struct backlog_count *count, const char *bytes, size_t length);

#endif
