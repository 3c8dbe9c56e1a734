#include "scheduler/yarn_store.h"

#include "base/mem.h"
#include "hadoop/cluster.h"
#include "store/store.h"

static struct store *open_store(const struct hadoop_cluster *cluster, const char *path,
				const struct webhdfs_options *options, struct event_base *base,
				struct err *err)
{
	char *location cleanup_free = mem_printf("%s%s", cluster->hdfs.fs, path);

	return store_open(location, options, base, err);
}

struct store *yarn_store_open(const struct hadoop_cluster *cluster, const char *path,
			      struct event_base *base, struct err *err)
{
	const struct webhdfs_options options = hdfs_access_webhdfs(&cluster->hdfs);

	return open_store(cluster, path, &options, base, err);
}

struct store *yarn_store_open_once(const struct hadoop_cluster *cluster, const char *path,
				   struct err *err)
{
	struct webhdfs_options options = hdfs_access_webhdfs(&cluster->hdfs);

	options.max_wait_ms = -1;
	return open_store(cluster, path, &options, NULL, err);
}
