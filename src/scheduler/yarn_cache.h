/*
 * <home>/.tony/cache: files of the user's by the hash of their content, for all jobs. When one was
 * last used is its access time, which the submitting client sets; NodeManagers that fetch it do so
 * by reading, as exactly as the NameNode notes that.
 */
#ifndef TONY_SCHEDULER_YARN_CACHE_H
#define TONY_SCHEDULER_YARN_CACHE_H

#include "hadoop/cluster.h"
#include "scheduler/removal.h"
#include "store/store.h"

#define YARN_CACHE "cache" /* of the user's own place */

/* Where a file of the cache is while it is no whole one, or is looked at before it is removed. The
 * caller frees. */
char *yarn_cache_part(const char *name);

/* Is the file there, and going to stay for a day at least? ERR_NOT_FOUND: no. The caller finishes
 * `file` after success. */
int yarn_cache_use(struct store *store, const char *path, struct store_item *file, struct err *err);

/* `own`: yarn_store_own(). Removes what was not used for `max_age_ms`, a day at least, and is none
 * of a live job's: `most` files (0: all). -1: nothing, since it cannot be told what there is or
 * what jobs use; ERR_USAGE: one is being submitted. */
int yarn_cache_age(struct store *own, int64_t max_age_ms, size_t most, struct removal *removal,
		   struct err *err);

#endif
