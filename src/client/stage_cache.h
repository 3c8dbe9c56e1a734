/* Archives, unpacked once per content and shared by all jobs of a user. */
#ifndef TONY_CLIENT_STAGE_CACHE_H
#define TONY_CLIENT_STAGE_CACHE_H

#include <stdint.h>

#include "base/err.h"

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

/* Removes what no job has asked for for `max_age_ms`, a day at least, and no live one has, but for
 * sources of jobs that are kept: some of it each time. `state`: the directory in which `cache` and
 * `jobs` are. */
void stage_cache_age(const char *state, int64_t max_age_ms);

#endif
