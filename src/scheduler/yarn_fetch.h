/* What lies in a cluster's HDFS, for jobs that do not run on the cluster. */
#ifndef TONY_SCHEDULER_YARN_FETCH_H
#define TONY_SCHEDULER_YARN_FETCH_H

#include "base/err.h"

struct job;

/* Brings the file or directory at `uri` (hdfs:...) to this machine as `target`, which must not be
 * there: see webhdfs_fetch(). The cluster is that of the site files and of the keys of `job`. */
int yarn_fetch(const struct job *job, const char *uri, const char *target, struct err *err);

#endif
