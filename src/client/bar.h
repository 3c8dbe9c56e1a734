/* A line on standard error that says how far something is, and about how long it will take; nothing
 * where standard error is no terminal. */
#ifndef TONY_CLIENT_BAR_H
#define TONY_CLIENT_BAR_H

#include <stdbool.h>
#include <stdint.h>

struct bar {
	const char *verb;	   /* "copying" */
	bool (*interrupted)(void); /* asked now and then */
	bool is_terminal, is_shown;
	int64_t begun_ms, shown_ms; /* monotonic */
};

void bar_begin(struct bar *bar, const char *verb, bool (*interrupted)(void));

/* `done` of `total` (0: not known) bytes of `name`. False: the user wants it to end. */
bool bar_show(struct bar *bar, const char *name, int64_t done, int64_t total);

/* Its text, at most `columns` wide unless its words are wider; an estimate is in it once that is
 * more than a guess. The caller frees. */
char *bar_line(const char *verb, const char *name, int64_t elapsed_ms, int64_t done, int64_t total,
	       int columns);

void bar_clear(struct bar *bar);

#endif
