/*
 * The line of a program's stderr that says most about its end: what ended the program, else what a
 * launcher says of its child, else the rest (headline.c has the order). Warnings, and
 * whatever else is no reason (aside.h), are none of these.
 */
#ifndef TONY_EXECUTOR_HEADLINE_H
#define TONY_EXECUTOR_HEADLINE_H

#include <stdbool.h>

#include "base/str.h"

enum { HEADLINE_CAP = 800 }; /* bytes of a message of several lines */

struct headline {
	char *text;  /* an exception's message of several lines is one; NULL: there is none */
	char *child; /* "its rank 1 was killed by signal 9 (SIGKILL)": what a launcher says of its
			child, and the line does not; NULL: nothing */
	int signal;  /* that ended the child of a launcher; 0: none, or it is not known */
};

/* Of a program that exited with `code`. `listed` are the last lines of `all`: what is further up
 * says something only where none of these does. */
void headline_find(const struct str_list *listed, const struct str_list *all, int code,
		   struct headline *headline);
void headline_finish(struct headline *headline);

/* Of one that a signal ended, also one of ours: it need not have said anything about that. NULL:
 * nothing that speaks of an error. The caller frees. */
char *headline_of_signal(const struct str_list *listed, const struct str_list *all);

#endif
