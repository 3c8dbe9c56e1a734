/* Removes what is too old, or more than may be kept, from a store. */
#ifndef TONY_HISTORY_RETAIN_H
#define TONY_HISTORY_RETAIN_H

#include "history/store.h"

struct history_retention {
	int64_t age_ms; /* since the end of the day a job is kept under; 0: no limit */
	int64_t bytes;	/* of all jobs together; 0: no limit */
	/* Told of each removal, at once, in a line without its end; NULL: nobody is. */
	void (*on_removed)(void *data, const char *text);
	/* Of each entry that stays whole, because another user's directory is in it: which, and
	 * what to do about that; NULL: nobody is. */
	void (*on_stays)(void *data, const char *path, const char *text);
	void *data;
};

struct history_retained {
	size_t kept, removed, failed; /* jobs; `failed`: to be removed, and could not be */
	size_t damaged; /* of those that are kept: no job's record can be read in it */
	size_t strays;	/* hidden things of old days that stay: no leftovers of this user's */
	int64_t bytes_kept, bytes_removed; /* where there is a limit to them; else 0 */
};

/* Too old: the day is, and where others than the location's owner made it, also the time of the
 * entry, or of one in a day to come. Only a job's entry goes: the summary in it can be read, and is
 * that of the entry's name. Where nobody but its owner and the location's can have put it there,
 * the summary may be damaged or another job's, if the entry has more of a history. Over the limit:
 * as history_retain_choose() has it. Sizes are measured; the location's owner, publishers and this
 * process's user are believed in theirs, and in a bucket everybody is. Only what is a job's is
 * removed, what killed publications left, and days that are empty then. One that cannot be removed
 * is counted, and named in a warning, and the rest gone on with. ERR_...: the store cannot be
 * looked at. */
int history_retain(struct history_store *store, const struct history_retention *retention,
		   int64_t now_ms, struct history_retained *retained, struct err *err);

/* A job, for the choice. */
struct history_weight {
	const char *user;
	int64_t time_ms, bytes;
	bool goes;
};
/* As long as all take more than `limit` bytes, the oldest job goes of the user whose jobs take
 * most, so nobody loses anything by the jobs of a user who has more. Of jobs of one time the last
 * counts as the oldest. `bytes` may be anything from 0 to INT64_MAX. (Implemented in
 * retain_choose.c.) */
void history_retain_choose(struct history_weight *jobs, size_t count, int64_t limit);

#endif
