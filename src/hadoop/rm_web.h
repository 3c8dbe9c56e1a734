/*
 * A ResourceManager's scheduler, as its web service tells of it and no RPC does (Hadoop 2.10
 * to 3.5). Either of a pair may be asked: one that stands by sends on.
 *
 *   GET /conf?name=KEY              one key of its configuration, XML as a site file's
 *   GET /ws/v1/cluster/scheduler    JSON: its queues
 */
#ifndef TONY_HADOOP_RM_WEB_H
#define TONY_HADOOP_RM_WEB_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define RM_WEB_CAP (64u << 20) /* bytes of an answer; a queue takes up to 100 KiB */

struct tls_context;

struct rm_web {
	const struct str_list *addresses; /* "http://host:port" each, or https, which needs `tls` */
	struct tls_context *tls;
	int64_t timeout_ms; /* of each question */
};

/* -1: none answers in time, or lets this user ask. *value NULL: the key is not set. The caller
 * frees. */
int rm_web_conf(const struct rm_web *web, const char *key, char **value);
/* NULL: likewise, and `err` says why. For the next two, and scheduler/yarn_rest.h; json_decref().
 */
json_t *rm_web_scheduler(const struct rm_web *web, struct err *err);

enum rm_web_making {
	RM_WEB_MAKES_NONE,
	RM_WEB_MAKES_MAPPED, /* queues below it are made for users whom a mapping sends there */
	RM_WEB_MAKES_ANY,    /* queues below it are made when they are named */
};

/* Of a queue of the CapacityScheduler. */
struct rm_web_queue {
	bool is_parent;
	double user_limit_factor; /* negative: none, or not told */
	enum rm_web_making makes;
};

bool rm_web_is_fair(const json_t *scheduler); /* NULL is fine */
/* By its path, "root.ml". False: nothing is told of it. */
bool rm_web_find_queue(const json_t *scheduler, const char *path, struct rm_web_queue *queue);

#endif
