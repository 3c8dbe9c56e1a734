#include "scheduler/yarn_store.h"

#include "base/mem.h"
#include "store/access.h"
#include "store/store.h"

static struct store *open_url(const struct hadoop_cluster *cluster, const char *url,
			      int64_t wait_ms, struct event_base *base, struct err *err)
{
	const struct store_access access = {hadoop_cluster_has_hdfs(cluster), cluster->hdfs};

	return store_open(url, &access, wait_ms, base, err);
}

char *yarn_store_url(const struct hadoop_cluster *cluster, const char *path)
{
	return *path == '/' ? mem_printf("%s%s", hadoop_cluster_fs(cluster), path)
			    : mem_strdup(path);
}

static struct store *open_store(const struct hadoop_cluster *cluster, const char *path,
				int64_t wait_ms, struct event_base *base, struct err *err)
{
	char *url cleanup_free = yarn_store_url(cluster, path);

	return open_url(cluster, url, wait_ms, base, err);
}

struct store *yarn_store_at(const struct hadoop_cluster *cluster, const char *url,
			    struct event_base *base, struct err *err)
{
	return open_url(cluster, url, 0, base, err);
}

struct store *yarn_store_open(const struct hadoop_cluster *cluster, const char *path,
			      struct event_base *base, struct err *err)
{
	return open_store(cluster, path, 0, base, err);
}

struct store *yarn_store_own(const struct hadoop_cluster *cluster, struct err *err)
{
	char *path cleanup_free = yarn_user_path(cluster, "");

	return open_store(cluster, path, 0, NULL, err);
}

struct store *yarn_store_open_once(const struct hadoop_cluster *cluster, const char *path,
				   struct err *err)
{
	return open_store(cluster, path, -1, NULL, err);
}

void yarn_store_cleanup(struct store **store)
{
	store_close(*store);
}

char *yarn_user_path(const struct hadoop_cluster *cluster, const char *name)
{
	return mem_printf("%s/.tony/%s", cluster->home, name);
}

char *yarn_user_url(const struct hadoop_cluster *cluster, const char *name)
{
	return mem_printf("%s%s/.tony/%s", hadoop_cluster_fs(cluster), cluster->home, name);
}
