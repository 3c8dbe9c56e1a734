#include "scheduler/yarn_store.h"

#include "base/mem.h"
#include "hadoop/cluster.h"
#include "store/access.h"
#include "store/store.h"

static struct store *open_store(const struct hadoop_cluster *cluster, const char *path,
				int64_t wait_ms, struct event_base *base, struct err *err)
{
	const struct store_access access = {true, cluster->hdfs};
	char *location cleanup_free = mem_printf("%s%s", cluster->hdfs.fs, path);

	return store_open(location, &access, wait_ms, base, err);
}

struct store *yarn_store_open(const struct hadoop_cluster *cluster, const char *path,
			      struct event_base *base, struct err *err)
{
	return open_store(cluster, path, 0, base, err);
}

struct store *yarn_store_open_once(const struct hadoop_cluster *cluster, const char *path,
				   struct err *err)
{
	return open_store(cluster, path, -1, NULL, err);
}
