/* The file system that the jobs' files of a cluster are in, as a store (store.h). */
#ifndef TONY_SCHEDULER_YARN_STORE_H
#define TONY_SCHEDULER_YARN_STORE_H

#include "base/err.h"
#include "hadoop/cluster.h"
#include "store/store.h"

struct event_base;

/* Any location that is reached as the cluster's are. `base` as for store_open(). */
struct store *yarn_store_at(const struct hadoop_cluster *cluster, const char *url,
			    struct event_base *base, struct err *err);
/* `path`: of the location, in the cluster's file system; or its URL. */
struct store *yarn_store_open(const struct hadoop_cluster *cluster, const char *path,
			      struct event_base *base, struct err *err);
/* Of a process that waits: the user's own place, "<home>/.tony". */
struct store *yarn_store_own(const struct hadoop_cluster *cluster, struct err *err);
/* For a process that waits, and does again itself what could not be served. */
struct store *yarn_store_open_once(const struct hadoop_cluster *cluster, const char *path,
				   struct err *err);

/* The URL of such a path. The caller frees. */
char *yarn_store_url(const struct hadoop_cluster *cluster, const char *path);

void yarn_store_cleanup(struct store **store);
#define cleanup_yarn_store __attribute__((cleanup(yarn_store_cleanup)))

/* "<home>/.tony/<name>", and its URL. The caller frees. */
char *yarn_user_path(const struct hadoop_cluster *cluster, const char *name);
char *yarn_user_url(const struct hadoop_cluster *cluster, const char *name);

#endif
