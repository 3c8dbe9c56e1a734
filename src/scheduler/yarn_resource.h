/* Files as NodeManagers are told to bring them into a container. */
#ifndef TONY_SCHEDULER_YARN_RESOURCE_H
#define TONY_SCHEDULER_YARN_RESOURCE_H

#include "base/err.h"
#include "hadoop/cluster.h"
#include "hadoop/node_manager.h"

/* One of the cluster's. The caller frees it with message_free(). NULL: `err` (ERR_INPUT), its URL
 * is none. */
Hadoop__LocalResourceProto *yarn_resource(const struct hadoop_cluster *cluster,
					  const struct hadoop_file *file, struct err *err);

#endif
