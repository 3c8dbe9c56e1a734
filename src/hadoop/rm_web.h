/*
 * A ResourceManager's web service, for what no RPC tells (Hadoop 2.10 to 3.5). Either of a pair may
 * be asked: one that stands by sends on.
 *
 *   GET /conf?name=KEY      one key of its configuration, XML as a site file's
 *   GET /ws/v1/cluster/...  JSON
 */
#ifndef TONY_HADOOP_RM_WEB_H
#define TONY_HADOOP_RM_WEB_H

#include <jansson.h>

#include "hadoop/cluster.h"

#define RM_WEB_CAP	 (64u << 20) /* bytes of an answer; a queue takes up to 100 KiB */
#define RM_WEB_SCHEDULER "/ws/v1/cluster/scheduler"
#define RM_WEB_NODES	 "/ws/v1/cluster/nodes"

struct rm_web;

/* The cluster is to outlive it. Nothing is asked yet. NULL: `err`; the cluster names no such
 * service, or its certificates cannot be checked. `timeout_ms`: of each question to
 * each address; the one that answered last is asked first. */
struct rm_web *rm_web_open(const struct hadoop_cluster *cluster, int64_t timeout_ms,
			   struct err *err);
void rm_web_close(struct rm_web *web); /* NULL is fine */

/* -1: none answers in time, or lets this user ask; `err` says why. *value NULL: the key is not set.
 * The caller frees. */
int rm_web_conf(struct rm_web *web, const char *key, char **value, struct err *err);
/* `path`: as above. NULL: likewise, and `err` says why; json_decref(). */
json_t *rm_web_ask(struct rm_web *web, const char *path, struct err *err);

#endif
