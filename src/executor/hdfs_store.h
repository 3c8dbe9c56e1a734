/* A directory of HDFS as the store of a mirror, through WebHDFS. */
#ifndef TONY_EXECUTOR_HDFS_STORE_H
#define TONY_EXECUTOR_HDFS_STORE_H

#include "executor/mirror.h"

struct store_access;

#define HDFS_STORE_PARTS ".tony-part"

/* `url`: "hdfs://nameservice/path", of the job's HDFS. A file on its way is in
 * "<parts>/.tony-part/<writer>", and is renamed when it is whole; `parts` is such a URL, too. */
int hdfs_store_open(const struct store_access *access, const char *url, const char *parts,
		    const char *writer, struct event_base *base, struct mirror_store *store,
		    struct err *err);

#endif
