/* A cluster's HDFS as a store (store.h). */
#ifndef TONY_SCHEDULER_YARN_STORE_H
#define TONY_SCHEDULER_YARN_STORE_H

#include "base/err.h"

struct event_base;
struct hadoop_cluster;
struct store;

/* `path`: of the location, in the cluster's file system. `base` as for store_open(). */
struct store *yarn_store_open(const struct hadoop_cluster *cluster, const char *path,
			      struct event_base *base, struct err *err);
/* For a process that waits, and does again itself what could not be served. */
struct store *yarn_store_open_once(const struct hadoop_cluster *cluster, const char *path,
				   struct err *err);

#endif
