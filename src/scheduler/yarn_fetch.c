#include "scheduler/yarn_fetch.h"

#include "hadoop/webhdfs_client.h"
#include "scheduler/yarn_cache.h"
#include "scheduler/yarn_client.h"

static const char *find_path(const struct hadoop_cluster *cluster, const char *uri, struct err *err)
{
	const char *path = cluster ? yarn_path_within(cluster, uri) : NULL;

	if (!cluster)
		err_wrap(err, "%s", uri);
	else if (!path)
		err_set(err, ERR_CONFIG,
			"%s is not in the file system that the site files name, %s", uri,
			cluster->hdfs.fs);
	return path;
}

int yarn_fetch(const struct job *job, const char *uri, const char *target, struct err *err)
{
	struct hadoop_cluster *cluster cleanup_hadoop_cluster = yarn_cluster_find(job, err);
	const char *path = find_path(cluster, uri, err);
	struct webhdfs_client *client cleanup_webhdfs = path ? yarn_webhdfs(cluster, err) : NULL;

	return client ? webhdfs_fetch(client, path, target, NULL, NULL, err) : -1;
}

int yarn_fetch_keep(const struct job *job, const char *uri, struct err *err)
{
	struct hadoop_cluster *cluster cleanup_hadoop_cluster = yarn_cluster_find(job, err);
	const char *path = find_path(cluster, uri, err);
	struct webhdfs_client *client cleanup_webhdfs = path ? yarn_webhdfs(cluster, err) : NULL;
	struct webhdfs_file file cleanup_webhdfs_file = {0};

	return client ? yarn_cache_use(client, path, &file, err) : -1;
}

int yarn_fetch_text(const char *uri, size_t cap, struct str *bytes, struct err *err)
{
	struct hadoop_cluster *cluster cleanup_hadoop_cluster = yarn_cluster_find(NULL, err);
	const char *path = find_path(cluster, uri, err);
	struct webhdfs_client *client cleanup_webhdfs = path ? yarn_webhdfs(cluster, err) : NULL;

	return client ? webhdfs_read_file(client, path, cap, bytes, err) : -1;
}
