/* tony.<type>.locality: nodes that have a type's data, which the ResourceManager is asked for
 * first. */
#ifndef TONY_SCHEDULER_YARN_NEAR_H
#define TONY_SCHEDULER_YARN_NEAR_H

#include "hadoop/cluster.h"
#include "job/job.h"

/* Asks the NameNodes, and notes the nodes in the cluster's types, which describe the job. -1: a
 * path is not there, or is none of HDFS. Where nobody answers, the job has no such nodes, and a
 * warning says why. */
int yarn_near_find(struct hadoop_cluster *cluster, const struct job *job, struct err *err);

#endif
