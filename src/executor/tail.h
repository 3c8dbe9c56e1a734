/*
 * The last lines of a stream, kept for the exit report. Lines are cut at TAIL_LINE_CAP bytes; of
 * what carriage returns overwrite (progress bars) the last counts. What is meant for a terminal
 * (colours, titles) is left out.
 */
#ifndef TONY_EXECUTOR_TAIL_H
#define TONY_EXECUTOR_TAIL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/escape.h"
#include "base/str.h"

enum {
	TAIL_LINE_CAP = 500,
	TAIL_DEPTH = 250, /* lines kept, whatever is asked for: a launcher's report is long */
};

struct tail {
	char **lines; /* a ring; `next` is the slot to be filled next */
	size_t capacity, count, next;
	size_t listed;		  /* at most, by tail_list() */
	char line[TAIL_LINE_CAP]; /* begun, not yet ended */
	size_t length;
	bool returned; /* a carriage return was the last byte */
	struct escape escape;
};

void tail_init(struct tail *tail, int lines); /* 0: keeps nothing */
void tail_feed(struct tail *tail, const char *bytes, size_t length);
void tail_end(struct tail *tail); /* what was begun is a line, too */
void tail_finish(struct tail *tail);

/* The last lines, oldest first, made printable: as many as tail_init() says, or all there are. */
void tail_list(const struct tail *tail, struct str_list *lines);
void tail_list_all(const struct tail *tail, struct str_list *lines);

#endif
