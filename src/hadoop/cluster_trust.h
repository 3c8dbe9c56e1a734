/* Whom tony trusts for a cluster's https addresses: what the client finds travels with the job. */
#ifndef TONY_HADOOP_CLUSTER_TRUST_H
#define TONY_HADOOP_CLUSTER_TRUST_H

#include "hadoop/cluster.h"
#include "hadoop/site.h"

/* Fills in cluster->hdfs.authorities, where an address of it is of https: out of `ca_file`
 * (tony.hdfs.ca-file), or where that is NULL out of the store that Hadoop's ssl-client.xml names,
 * if this machine has both; else it stays NULL. ERR_CONFIG names file and key. */
int hadoop_cluster_trust(struct hadoop_cluster *cluster, struct hadoop_site *site,
			 const char *ca_file, struct err *err);

#endif
