/*
 * Lines of stderr that are not about the end of the program, whatever they look like: what Python,
 * libraries and launchers print beside its reason, or after it on their way out. One table, each
 * row with a test.
 */
#ifndef TONY_EXECUTOR_ASIDE_H
#define TONY_EXECUTOR_ASIDE_H

#include <stdbool.h>
#include <stddef.h>

enum aside_kind {
	ASIDE_LINE,	/* tells of no end */
	ASIDE_LAUNCHER, /* a launcher's: that its child failed, and not why */
	ASIDE_IGNORED,	/* a traceback follows, and the program goes on */
	ASIDE_OTHER, /* the traceback of a thread, a child or a task of asyncio follows: the program
			may have gone on */
	ASIDE_BETWEEN, /* stands between such a line and its traceback */
	ASIDE_BEHIND,  /* stands behind the traceback of ASIDE_IGNORED, as indented lines do */
	ASIDE_CHAIN,   /* the exception above led to the one that follows */
};

struct aside {
	enum aside_kind kind;
	const char *text;
	bool begins;	    /* the line begins with the text, which may stand anywhere else */
	const char *also;   /* the line has this text, too; NULL: it need not */
	const char *ends;   /* and ends by this one */
	const char *unless; /* and not this one */
};

/* The first row that fits the line; NULL: none does. */
const struct aside *aside_find(const char *line);

/* Does that row say so? */
bool aside_is(const char *line, enum aside_kind kind);

/* For tests: every row is of use. */
size_t aside_count(void);
size_t aside_number(const struct aside *row);

#endif
