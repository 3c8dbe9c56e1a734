/* The client's side of cluster.h: from Hadoop's site files to addresses. */
#ifndef TONY_HADOOP_CLUSTER_SITE_H
#define TONY_HADOOP_CLUSTER_SITE_H

#include "hadoop/cluster.h"
#include "hadoop/site.h"

/* The cluster that the site files describe, for `user`; what belongs to one job (queue, job_dir,
 * files ...) is left empty. `http_fs`: "http://host:port", ... of HttpFS gateways, which then take
 * the NameNodes' place for files; empty: none. `staging`: a directory that all nodes see, in which
 * jobs' files are, NULL: they are in HDFS, which must be there then. ERR_CONFIG names the key, its
 * value and the files. */
struct hadoop_cluster *hadoop_cluster_from_site(struct hadoop_site *site, const char *user,
						const struct str_list *http_fs, const char *staging,
						struct err *err);

/* Has also the HDFS of each URL, "hdfs://NAMESERVICE" or "hdfs://HOST:PORT", in addition to those
 * that the site files name. */
int hadoop_cluster_add_others(struct hadoop_cluster *cluster, struct hadoop_site *site,
			      const struct str_list *urls, struct err *err);

/* Appends the ResourceManager's addresses, "host:port", as the cluster has them then. */
int hadoop_cluster_find_rm(struct hadoop_site *site, struct str_list *rm, struct err *err);

/* HADOOP_USER_NAME, as Hadoop's own clients take it, or the user of this machine. The caller
 * frees. */
char *hadoop_cluster_user(void);

#endif
