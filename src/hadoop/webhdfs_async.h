/*
 * The calls to HDFS that are made from within containers: asynchronous, over src/net. The same
 * rules as webhdfs_client.h about addresses, repetition and errors.
 */
#ifndef TONY_HADOOP_WEBHDFS_ASYNC_H
#define TONY_HADOOP_WEBHDFS_ASYNC_H

#include "hadoop/webhdfs.h"

struct event_base;
struct webhdfs_async;
struct webhdfs_call;

/* Of webhdfs_async_write() and webhdfs_async_read(); larger ones are refused (ERR_INPUT). */
#define WEBHDFS_BODY_CAP (64u << 20)

/* What a call came to; valid within `done`. */
struct webhdfs_result {
	const struct webhdfs_file *file; /* of webhdfs_async_stat() */
	const char *bytes;		 /* of webhdfs_async_read(); NUL-terminated */
	size_t length;
};

/* Called exactly once, from the loop and never from within the call that starts it, unless the call
 * is cancelled. `err` is NULL after success, `result` after a failure. It may make and cancel
 * calls, and destroy the client. */
typedef void webhdfs_done(void *data, const struct webhdfs_result *result, const struct err *err);

/* ERR_CONFIG: as webhdfs_options_check(). */
struct webhdfs_async *webhdfs_async_create(struct event_base *base,
					   const struct webhdfs_options *options, struct err *err);
/* The one of its addresses that answered last; none did: the first. Borrowed. */
const char *webhdfs_async_address(const struct webhdfs_async *client);
/* Cancels all calls. NULL is fine. */
void webhdfs_async_destroy(struct webhdfs_async *client);

/* Each call runs by itself; who needs an order makes the next one in `done`. */
struct webhdfs_call *webhdfs_async_make_directories(struct webhdfs_async *client, const char *path,
						    unsigned permission, webhdfs_done *done,
						    void *data);
struct webhdfs_call *webhdfs_async_stat(struct webhdfs_async *client, const char *path,
					webhdfs_done *done, void *data);
/* The bytes are copied. */
struct webhdfs_call *webhdfs_async_write(struct webhdfs_async *client, const char *path,
					 const struct webhdfs_create *create, const void *bytes,
					 size_t length, webhdfs_done *done, void *data);
/* To the end of a file that is there. The bytes are copied. After a failure none, some or all of
 * them are in the file. */
struct webhdfs_call *webhdfs_async_append(struct webhdfs_async *client, const char *path,
					  const void *bytes, size_t length, webhdfs_done *done,
					  void *data);
struct webhdfs_call *webhdfs_async_read(struct webhdfs_async *client, const char *path,
					webhdfs_done *done, void *data);
struct webhdfs_call *webhdfs_async_remove(struct webhdfs_async *client, const char *path,
					  webhdfs_done *done, void *data);
/* `visit` is called for each entry, before `done`. */
struct webhdfs_call *webhdfs_async_list(struct webhdfs_async *client, const char *path,
					void (*visit)(void *data, const struct webhdfs_file *file),
					webhdfs_done *done, void *data);
struct webhdfs_call *webhdfs_async_set_time(struct webhdfs_async *client, const char *path,
					    int64_t modified_ms, webhdfs_done *done, void *data);
/* An extended attribute, "user.NAME", of at most 16 KiB as HDFS is set up; it takes the place of
 * one that is there. `value` is in hex, "0x6f6e65". */
struct webhdfs_call *webhdfs_async_set_attribute(struct webhdfs_async *client, const char *path,
						 const char *name, const char *value,
						 webhdfs_done *done, void *data);
/* `visit` is called for each, before `done`. */
struct webhdfs_call *webhdfs_async_attributes(struct webhdfs_async *client, const char *path,
					      void (*visit)(void *data, const char *name,
							    const char *value),
					      webhdfs_done *done, void *data);
/* Files of any length, from and to a descriptor, which is borrowed. How long a try may take follows
 * from `length`. An upload sends the beginning of it. A download brings what the file has from
 * `offset` on, at most `length` (> 0) bytes, and makes them all that `fd` has from there on. */
struct webhdfs_call *webhdfs_async_upload(struct webhdfs_async *client, const char *path,
					  const struct webhdfs_create *create, int fd,
					  int64_t length, webhdfs_done *done, void *data);
struct webhdfs_call *webhdfs_async_download(struct webhdfs_async *client, const char *path, int fd,
					    int64_t offset, int64_t length, webhdfs_done *done,
					    void *data);
/* `overwrite` as in webhdfs_rename(). Through an HttpFS gateway without `overwrite`, a directory
 * `to` would be moved into. */
struct webhdfs_call *webhdfs_async_rename(struct webhdfs_async *client, const char *from,
					  const char *to, bool overwrite, webhdfs_done *done,
					  void *data);

/* `done` will not be called; what the server makes of it is not known. Not after `done`. */
void webhdfs_call_cancel(struct webhdfs_call *call);

#endif
