/*
 * Files of a job's HDFS for the programs of a task, so that they need neither Java nor Hadoop's
 * configuration, and no ticket: HTTP/1.1 at a Unix socket of mode 0600 (docs/data.md). Reading is
 * all that is served, by the job's own user or tokens. A DataNode, NameNode or gateway that fails
 * in the middle of an answer is not noticed there, as long as another one has what is left.
 *
 * An answer is fetched as fast as the program reads it: some 1 MiB of each is kept here.
 */
#ifndef TONY_STORE_FILE_SERVER_H
#define TONY_STORE_FILE_SERVER_H

#include <event2/event.h>
#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"

struct file_server;

/* Whether job->stores names a file system to serve. */
bool file_server_is_wanted(const json_t *stores);

/* NULL: `err`. */
struct file_server *file_server_open(struct event_base *base, const char *path,
				     const json_t *stores, struct err *err);
void file_server_close(struct file_server *server); /* NULL is fine */

#endif
