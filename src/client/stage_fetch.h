/* Brings what lies in HDFS to tasks of this machine. */
#ifndef TONY_CLIENT_STAGE_FETCH_H
#define TONY_CLIENT_STAGE_FETCH_H

#include <stdbool.h>

#include "base/err.h"

struct job;

/* Brings what is at `uri` (hdfs:...) into the cache (stage_cache.h), where it is shared by content:
 * its path there, of a file or a directory. `unpack`: of an archive, its content. `cache` may not
 * be there yet. The cluster is that of the site files and of the keys of `job`. ERR_NOT_FOUND:
 * nothing is there. The caller frees. */
char *stage_fetch(const struct job *job, const char *cache, const char *uri, bool unpack,
		  struct err *err);

#endif
