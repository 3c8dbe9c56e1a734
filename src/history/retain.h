/* Removes what is too old, or more than may be kept, from a store. */
#ifndef TONY_HISTORY_RETAIN_H
#define TONY_HISTORY_RETAIN_H

#include "history/store.h"

struct history_retention {
	int64_t age_ms; /* since the end of the day a job is kept under; 0: no limit */
	int64_t bytes;	/* of all jobs together; 0: no limit */
};

struct history_retained {
	size_t kept, removed, failed;	   /* jobs; `failed`: to be removed, and could not be */
	int64_t bytes_kept, bytes_removed; /* where there is a limit to them; else 0 */
};

/* The oldest go first. Only what is a job's is removed, what killed publications left, and days
 * that are empty then. One that cannot be removed is counted, and named in a warning, and the rest
 * gone on with. ERR_...: the store cannot be looked at. */
int history_retain(struct history_store *store, const struct history_retention *retention,
		   int64_t now_ms, struct history_retained *retained, struct err *err);

#endif
