/* Delegation tokens that whoever started tony has got already. Under Oozie, or in a container of
 * another job, there is no Kerberos ticket: HADOOP_TOKEN_FILE_LOCATION is all. */
#ifndef TONY_HADOOP_CLUSTER_TOKENS_H
#define TONY_HADOOP_CLUSTER_TOKENS_H

#include "hadoop/cluster.h"
#include "hadoop/site.h"

/* Fills in cluster->rm_token and those of cluster->hdfs, as far as the file has them, on a cluster
 * with Kerberos; on others tokens are of no use. A token is the one that Hadoop's clients would
 * take: its service is the server's "ip:port" ("host:port" where
 * hadoop.security.token.service.use_ip is false), or "ha-hdfs:NAMESERVICE". Waits for names to be
 * resolved. ERR_CONFIG: the file cannot be read. */
int hadoop_cluster_take_tokens(struct hadoop_cluster *cluster, struct hadoop_site *site,
			       struct err *err);

#endif
