/* Something that is asked for again and again, for people: tony list --watch, tony top. */
#ifndef TONY_CLIENT_LOOK_H
#define TONY_CLIENT_LOOK_H

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "client/live.h"

enum look_result {
	LOOK_ALL,
	LOOK_PART, /* somebody does not answer, of which was warned: nothing is over */
	LOOK_LAST, /* there will be no more */
};

struct look_options {
	int64_t every_ms;
	/* enum look_result; -1: `err`. A warning of it is told once when it begins and once when it
	 * is over, and stands below the table meanwhile. */
	int (*ask)(void *data, struct err *err);
	/* For a terminal, which is drawn anew: appends lines of at most `size.columns` columns.
	 * Those that are too many are cut, and counted. */
	void (*draw)(void *data, struct live_size size, struct str *out);
	void (*tell)(void *data); /* elsewhere: prints what has changed */
	void *data;
};

/* Returns the exit code once a signal ends it, or the last was seen; -1: `err`. */
int look_again(const struct look_options *options, struct err *err);

#endif
