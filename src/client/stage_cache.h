/* Archives, unpacked once per content and shared by all jobs of a user. */
#ifndef TONY_CLIENT_STAGE_CACHE_H
#define TONY_CLIENT_STAGE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"
#include "base/str.h"

/* The directory <cache>/<sha256 of the archive>, unpacked now or found from before. Any number of
 * processes may ask for the same one at once: one unpacks, the others wait. The caller frees. */
char *stage_cache_unpack(const char *cache, const char *archive, struct err *err);

/* Moves `tree`, a file or a directory, into the cache: its path there. The same content is there
 * once; then `tree` stays where it is. The caller frees. */
char *stage_cache_keep(const char *cache, const char *tree, struct err *err);

/* For what is on its way into the cache: holds the place, <cache>/NAME, as long as the descriptor
 * is open, and says where it may be put meanwhile. A rest that is left there goes with the cache.
 */
int stage_cache_lock(const char *place, struct err *err);
char *stage_cache_part(const char *place);

/* A removal from the cache: how it is done, and how much it was. */
struct stage_cache_removal {
	bool is_dry;		/* nothing is removed, and all is told as if it were */
	size_t most;		/* directories; 0: all */
	const struct map *jobs; /* by id: jobs that are being removed use nothing; NULL: none */
	size_t count;		/* directories that were removed */
	int64_t bytes;
	struct err left; /* one that could not be removed; the caller finishes it */
};

/* Removes what no job has asked for for `max_age_ms`, a day at least, and no live one has, but for
 * sources of jobs that are kept. `state`: the state directory. */
void stage_cache_age(const char *state, int64_t max_age_ms, struct stage_cache_removal *removal);

/* Removes sources of jobs that were removed, whatever their age, unless others have the same.
 * `hashes`: their names in the cache. */
void stage_cache_drop(const char *state, const struct str_list *hashes,
		      struct stage_cache_removal *removal);

#endif
