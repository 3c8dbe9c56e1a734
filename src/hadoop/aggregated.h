/*
 * What YARN keeps of an application's logs once its containers have ended (log aggregation): below
 * yarn.nodemanager.remote-app-log-dir, one TFile per node and upload, HOST_PORT or
 * HOST_PORT_TIME, with the containers of that node in it (container_log.h), or one indexed file per
 * node (indexed_log.h). The directory of an
 * application is
 *
 *   ROOT/USER/bucket-logs-tfile/0042/application_1700000000000_0042    Hadoop 3.3 and later
 *   ROOT/USER/logs-tfile/application_1700000000000_0042                3.0 to 3.2
 *   ROOT/USER/logs/application_1700000000000_0042                      2.x
 *
 * where "logs" and "tfile" are settings of the cluster, and "0042" is the number of the application
 * modulo 10000. So all directories of the user are looked into.
 */
#ifndef TONY_HADOOP_AGGREGATED_H
#define TONY_HADOOP_AGGREGATED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "hadoop/container_log.h"

#define AGGREGATED_FILES_MAX 100000 /* of one application */

/* ---- the file system where they are ------------------------------------------------------- */

struct log_store_entry {
	const char *name;
	bool is_directory;
	int64_t length;
	int64_t modified_ms; /* wall clock */
};

/* The first member of every store's own struct. */
struct log_store {
	const struct log_store_ops *ops;
};

struct log_store_ops {
	/* Calls `visit` for everything in a directory; ERR_NOT_FOUND: there is no such directory.
	 */
	int (*list)(struct log_store *store, const char *path,
		    void (*visit)(void *data, const struct log_store_entry *entry), void *data,
		    struct err *err);
	/* Reads exactly `length` bytes from `offset` on; fewer are an error. */
	int (*read)(struct log_store *store, const char *path, int64_t offset, void *bytes,
		    size_t length, struct err *err);
	void (*destroy)(struct log_store *store);
};

/* Directories of this machine: yarn.nodemanager.remote-app-log-dir may be on a shared disk
 * ("file:///nfs/logs"). */
struct log_store *log_store_local(void);
/* HDFS; takes the client. */
struct webhdfs_client;
struct log_store *log_store_webhdfs(struct webhdfs_client *client);
void log_store_destroy(struct log_store *store); /* NULL is fine */

/* ---- an application's logs ---------------------------------------------------------------- */

struct aggregated;

/* ERR_NOT_FOUND: nothing is there (yet). The store is to outlive it. */
struct aggregated *aggregated_open(struct log_store *store, const char *root, const char *user,
				   const char *application, struct err *err);
void aggregated_close(struct aggregated *logs); /* NULL is fine */

/* Of long-running applications YARN may upload a container's files piece by piece: the files that
 * one node uploaded at one time. */
struct aggregated_container {
	struct container_log_files *uploads; /* oldest first */
	size_t count;
};

/* What is there of a container; `host` is where it ran (NULL: not known), and saves looking into
 * the files of all nodes. The result is kept, and valid until the logs are closed. NULL:
 * ERR_NOT_FOUND, or what is there cannot be read; ERR_INPUT names a compression (lzo) that tony
 * does not read. */
const struct aggregated_container *aggregated_find(struct aggregated *logs, const char *container,
						   const char *host, struct err *err);

#endif
