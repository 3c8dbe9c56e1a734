#include "client/stage_fetch.h"

#include <stdlib.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/secret.h"
#include "client/stage_cache.h"
#include "scheduler/fetch.h"

/* Nobody else fetches it meanwhile; what a killed one has left goes with the cache. */
static char *fetch(const struct job *job, const char *cache, const char *uri, const char *part,
		   bool unpack, struct err *err)
{
	if (fs_remove_tree(part, err) < 0 || fetch_tree(job, uri, part, err) < 0)
		return NULL;
	char *path = unpack && !fs_is_directory(part) ? stage_cache_unpack(cache, part, err)
						      : stage_cache_keep(cache, part, err);
	fs_remove_tree(part, NULL);
	return path;
}

char *stage_fetch(const struct job *job, const char *cache, const char *uri, bool unpack,
		  struct err *err)
{
	char *mark cleanup_free = secret_hash(uri);
	char *place cleanup_free = fs_join(cache, mark);

	if (fs_make_directories(cache, 0700, err) < 0)
		return NULL;
	char *part cleanup_free = stage_cache_part(place);
	int held cleanup_close = stage_cache_lock(place, err);
	if (held < 0)
		return NULL;
	return fetch(job, cache, uri, part, unpack, err);
}
