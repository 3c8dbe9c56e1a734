#include "executor/checkpoints.h"

#include <stdlib.h>

#include "base/fs.h"
#include "base/mem.h"
#include "executor/hdfs_store.h"
#include "hadoop/cluster.h"

enum { LOOK_MS = 1000 };

int checkpoints_open(const struct settings *settings, struct event_base *base,
		     struct mirror **mirror, struct err *err)
{
	*mirror = NULL;
	if (!settings->checkpoint_url)
		return 0;
	struct hadoop_cluster *cluster = hadoop_cluster_from_json(settings->job->cluster, err);
	if (!cluster)
		return -1;
	char *scratch cleanup_free = fs_join(settings->container_dir, "checkpoint.part");
	struct mirror_options options = {
		.base = base,
		.directory = settings->job->checkpoint_dir,
		.scratch = scratch,
		.interval_ms = LOOK_MS,
		/* Those whom nobody waits for read what others write: evaluators, TensorBoard. */
		.follow = settings->job->types[settings->type].role == JOB_ROLE_SIDECAR,
	};
	int result = hdfs_store_open(cluster, settings->checkpoint_url, settings->container, base,
				     &options.store, err);
	if (result == 0)
		*mirror = mirror_create(&options, err);
	if (result == 0 && !*mirror)
		options.store.close(options.store.data);
	hadoop_cluster_destroy(cluster);
	return *mirror ? 0 : -1;
}
