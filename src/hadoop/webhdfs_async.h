/*
 * Files in HDFS: asynchronous, over src/net.
 *
 * Each call finds the active one of the addresses by itself and stays with it. What could not be
 * served is repeated for max_wait_ms with growing pauses; what may have been done already only if
 * doing it twice does no harm. Errors name server, operation, path, exception and its first line.
 * Kinds beyond webhdfs_judge()'s: ERR_UNREACHABLE when no address, or not the DataNode that the
 * NameNode named, could be reached; ERR_INPUT for answers that are not WebHDFS's. No proxy of the
 * environment is used: clusters are asked directly, as Hadoop's own clients do.
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
/* The same of a directory of any size: the entries come by the thousand or so, sorted by name; of a
 * router, which cannot do that, all at once. */
struct webhdfs_call *webhdfs_async_list_long(struct webhdfs_async *client, const char *path,
					     void (*visit)(void *data,
							   const struct webhdfs_file *file),
					     webhdfs_done *done, void *data);
/* `visit` is called for each block of a file, before `done`. */
struct webhdfs_call *webhdfs_async_blocks(struct webhdfs_async *client, const char *path,
					  void (*visit)(void *data,
							const struct webhdfs_block *block),
					  webhdfs_done *done, void *data);
/* -1: the time stays as it is. */
struct webhdfs_call *webhdfs_async_set_times(struct webhdfs_async *client, const char *path,
					     int64_t modified_ms, int64_t accessed_ms,
					     webhdfs_done *done, void *data);
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
/* Files of any length, from and to a descriptor, which is borrowed. An upload sends the beginning
 * of it: a file that turns out to be shorter is an error. `progress` is borrowed, too, and may be
 * NULL. A download brings what the file has from `offset` on, at most `length` (> 0) bytes, and
 * makes them all that `fd` has from there on. */
struct webhdfs_call *webhdfs_async_upload(struct webhdfs_async *client, const char *path,
					  const struct webhdfs_create *create, int fd,
					  int64_t length, const struct webhdfs_progress *progress,
					  webhdfs_done *done, void *data);
struct webhdfs_call *webhdfs_async_download(struct webhdfs_async *client, const char *path, int fd,
					    int64_t offset, int64_t length,
					    const struct webhdfs_progress *progress,
					    webhdfs_done *done, void *data);
/* Bytes from `offset` on, `length` of them or fewer if the file ends before, in pieces as they
 * come; on_bytes() ends the call by false, which is a success. When a connection breaks in the
 * middle the rest is asked for, of another DataNode where one has it. */
struct webhdfs_call *
webhdfs_async_stream(struct webhdfs_async *client, const char *path, int64_t offset, int64_t length,
		     bool (*on_bytes)(void *data, const char *bytes, size_t length),
		     webhdfs_done *done, void *data);
/* `to` is the new path itself, never a directory to move into. When it exists: ERR_FAILED, unless
 * `overwrite`, which replaces a file or an empty directory in one step (an HttpFS gateway: in
 * two). */
struct webhdfs_call *webhdfs_async_rename(struct webhdfs_async *client, const char *from,
					  const char *to, bool overwrite, webhdfs_done *done,
					  void *data);

/* For on_bytes() of a stream and visit() of a long list, and fine at any time until `done`: no more
 * for now. Little that is on its way comes all the same. */
void webhdfs_call_pause(struct webhdfs_call *call);
void webhdfs_call_resume(struct webhdfs_call *call);

/* `done` will not be called; what the server makes of it is not known. Not after `done`. */
void webhdfs_call_cancel(struct webhdfs_call *call);

#endif
