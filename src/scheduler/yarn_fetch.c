#include "scheduler/yarn_fetch.h"

#include "hadoop/webhdfs_client.h"
#include "scheduler/yarn_client.h"

int yarn_fetch(const struct job *job, const char *uri, const char *target, struct err *err)
{
	struct hadoop_cluster *cluster cleanup_hadoop_cluster = yarn_cluster_find(job, err);
	const char *path = cluster ? yarn_path_within(cluster, uri) : NULL;

	if (!cluster)
		return err_wrap(err, "%s", uri);
	if (!path)
		return err_set(err, ERR_CONFIG,
			       "%s is not in the file system that the site files "
			       "name, %s",
			       uri, cluster->fs);
	struct webhdfs_client *client cleanup_webhdfs = yarn_webhdfs(cluster, err);
	return client ? webhdfs_fetch(client, path, target, NULL, err) : -1;
}
