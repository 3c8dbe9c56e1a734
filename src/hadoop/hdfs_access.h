/* How one HDFS is reached, through WebHDFS or an HttpFS gateway. The client resolves it from the
 * site files (cluster_site.h); it travels in job.json as job->stores' member "hdfs". */
#ifndef TONY_HADOOP_HDFS_ACCESS_H
#define TONY_HADOOP_HDFS_ACCESS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "hadoop/webhdfs.h"

struct hdfs_access {
	char *user;		    /* for whom it is asked */
	char *fs;		    /* "hdfs://nameservice" or "hdfs://host:port" */
	struct str_list name_nodes; /* "host:port", of RPC */
	struct str_list webhdfs;    /* "http://host:port", or https; never empty once read */
	bool http_fs;		    /* `webhdfs` are HttpFS gateways: no redirects */
	char *authorities;	    /* PEM, for https; NULL: those that a machine trusts */
	int64_t connect_timeout_ms;
};

void hdfs_access_finish(struct hdfs_access *access);
#define cleanup_hdfs_access __attribute__((cleanup(hdfs_access_finish)))

/* Borrows from `access`. */
struct webhdfs_options hdfs_access_webhdfs(const struct hdfs_access *access);

/* "/data/x" of "hdfs:///data/x", "hdfs:/data/x" and "<fs>/data/x"; NULL: another file system.
 * Borrows from `url`. */
const char *hdfs_access_path(const struct hdfs_access *access, const char *url);

/* Reads and checks the member "hdfs" of `stores`, as if written by an enemy. -1: `err` (ERR_INPUT),
 * also when there is none; then `access` is empty. */
int hdfs_access_read(struct hdfs_access *access, const json_t *stores, struct err *err);
/* Sets that member. */
void hdfs_access_write(const struct hdfs_access *access, json_t *stores);

#endif
