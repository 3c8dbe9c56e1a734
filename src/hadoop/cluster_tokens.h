/* By what the tokens of a cluster's servers are found: what the client works out travels with the
 * job. */
#ifndef TONY_HADOOP_CLUSTER_TOKENS_H
#define TONY_HADOOP_CLUSTER_TOKENS_H

#include "hadoop/cluster.h"
#include "hadoop/site.h"

/* Appends the services of servers at these addresses, "host:port" or "https://host:port". */
void hadoop_token_services(bool use_ip, const struct str_list *addresses,
			   struct str_list *services);
/* hadoop.security.token.service.use_ip */
bool hadoop_token_uses_ip(struct hadoop_site *site);

/* On a cluster with Kerberos, fills in what hdfs_token.h has to know. As Hadoop's clients write it,
 * a service is the server's "ip:port" ("host:port" where hadoop.security.token.service.use_ip is
 * false), or "ha-hdfs:NAMESERVICE". Waits for names to be resolved; those that cannot be have no
 * service. */
void hadoop_cluster_find_tokens(struct hadoop_cluster *cluster, struct hadoop_site *site);

#endif
