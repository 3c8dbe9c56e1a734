/* Archives, unpacked once per content and shared by all jobs of a user. */
#ifndef TONY_CLIENT_STAGE_CACHE_H
#define TONY_CLIENT_STAGE_CACHE_H

#include "base/err.h"

/* The directory <cache>/<sha256 of the archive>, unpacked now or found from before. Any number of
 * processes may ask for the same one at once: one unpacks, the others wait. The caller frees. */
char *stage_cache_unpack(const char *cache, const char *archive, struct err *err);

#endif
