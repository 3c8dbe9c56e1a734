/* `tony history --prune`. */
#ifndef TONY_CLIENT_PRUNE_H
#define TONY_CLIENT_PRUNE_H

#include <stdbool.h>

#include "base/err.h"
#include "history/retain.h"

/* Removes what is too old or too much from the store at `location` (NULL: all of the user's), and
 * prints what was done. The limits are texts as the user gave them; NULL: those of
 * tony-site.xml. */
int prune(const char *location, const char *older_than, const char *max_size, bool as_json,
	  struct err *err);

/* What tony-site.xml says of what is to be kept; 0 where it says nothing: no limit that nobody has
 * asked for removes anything unasked. */
int prune_read_site(struct history_retention *retention, struct err *err);

#endif
