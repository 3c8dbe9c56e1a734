/* By what the tokens of a cluster's servers are found: what the client works out travels with the
 * job. */
#ifndef TONY_HADOOP_CLUSTER_TOKENS_H
#define TONY_HADOOP_CLUSTER_TOKENS_H

#include "hadoop/cluster.h"
#include "hadoop/site.h"

/* Appends the services of servers at these addresses, "host:port". */
void hadoop_token_services(struct hadoop_site *site, const struct str_list *addresses,
			   struct str_list *services);

/* On a cluster with Kerberos, fills in the lists of `token_services`, and takes the tokens of
 * HADOOP_TOKEN_FILE_LOCATION that HDFS has by them. As Hadoop's clients write it, a service is the
 * server's "ip:port" ("host:port" where hadoop.security.token.service.use_ip is false), or
 * "ha-hdfs:NAMESERVICE". Waits for names to be resolved; those that cannot be have no service. */
int hadoop_cluster_find_tokens(struct hadoop_cluster *cluster, struct hadoop_site *site,
			       struct err *err);

#endif
