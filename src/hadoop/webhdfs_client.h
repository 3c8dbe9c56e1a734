/*
 * Calls of webhdfs_async.h for what reads aggregated logs: each waits for its end, in an event loop
 * of the client's own. So no callback makes another call of the same client.
 */
#ifndef TONY_HADOOP_WEBHDFS_CLIENT_H
#define TONY_HADOOP_WEBHDFS_CLIENT_H

#include "hadoop/webhdfs.h"

struct webhdfs_client;

struct webhdfs_client *webhdfs_client_create(const struct webhdfs_options *options,
					     struct err *err);
void webhdfs_client_destroy(struct webhdfs_client *client); /* NULL is fine */

/* ERR_NOT_FOUND: nothing is there. The caller finishes `file` after success. */
int webhdfs_stat(struct webhdfs_client *client, const char *path, struct webhdfs_file *file,
		 struct err *err);

/* What is in a directory, by name. Of a file: that file, with the name "". */
int webhdfs_list(struct webhdfs_client *client, const char *path,
		 void (*visit)(void *data, const struct webhdfs_file *file), void *data,
		 struct err *err);

/* The blocks of a file. */
int webhdfs_blocks(struct webhdfs_client *client, const char *path,
		   void (*visit)(void *data, const struct webhdfs_block *block), void *data,
		   struct err *err);

/* Bytes from `offset` on, `length` of them or fewer if the file ends before. They come in pieces;
 * on_bytes() ends the call by false, which is no error. When a connection breaks in the middle the
 * rest is asked for. */
int webhdfs_read(struct webhdfs_client *client, const char *path, int64_t offset, int64_t length,
		 bool (*on_bytes)(void *data, const char *bytes, size_t length), void *data,
		 struct err *err);

#endif
