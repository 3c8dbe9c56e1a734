/*
 * The calls of webhdfs_async.h for the tony program: each waits for its end, in an event loop of
 * the client's own. So no callback makes another call of the same client.
 */
#ifndef TONY_HADOOP_WEBHDFS_CLIENT_H
#define TONY_HADOOP_WEBHDFS_CLIENT_H

#include "hadoop/webhdfs.h"

struct webhdfs_client;

struct webhdfs_client *webhdfs_client_create(const struct webhdfs_options *options,
					     struct err *err);
void webhdfs_client_destroy(struct webhdfs_client *client); /* NULL is fine */

/* Existing directories keep their permission. Missing parents get `permission` as well. */
int webhdfs_make_directories(struct webhdfs_client *client, const char *path, unsigned permission,
			     struct err *err);

/* ERR_NOT_FOUND: nothing is there. The caller finishes `file` after success. */
int webhdfs_stat(struct webhdfs_client *client, const char *path, struct webhdfs_file *file,
		 struct err *err);

/* What is in a directory, by name. Of a file: that file, with the name "". */
int webhdfs_list(struct webhdfs_client *client, const char *path,
		 void (*visit)(void *data, const struct webhdfs_file *file), void *data,
		 struct err *err);

/* Sends `length` bytes of `fd` from its start on; its position is not used. A file that turns out
 * to be shorter is an error. Missing parents are made. `progress` may be NULL. */
int webhdfs_create(struct webhdfs_client *client, const char *path,
		   const struct webhdfs_create *create, int fd, int64_t length,
		   const struct webhdfs_progress *progress, struct err *err);

/* The same for bytes in memory. */
int webhdfs_write(struct webhdfs_client *client, const char *path,
		  const struct webhdfs_create *create, const void *bytes, size_t length,
		  struct err *err);

/* Bytes from `offset` on, `length` of them (-1: to the end) or fewer if the file ends before. An
 * offset behind the end is an error. They come in pieces; on_bytes() ends the call by false, which
 * is no error. When a connection breaks in the middle the rest is asked for. */
int webhdfs_read(struct webhdfs_client *client, const char *path, int64_t offset, int64_t length,
		 bool (*on_bytes)(void *data, const char *bytes, size_t length), void *data,
		 struct err *err);

/* A whole file of at most `cap` bytes (more: ERR_INPUT), appended to `bytes`. */
int webhdfs_read_file(struct webhdfs_client *client, const char *path, size_t cap,
		      struct str *bytes, struct err *err);

/* The parts of a tree that a fetch brings. */
struct webhdfs_choice {
	/* Asked of everything before the first byte comes; `name` is below what is fetched. Nothing
	 * comes of a directory that is not wanted. */
	bool (*is_wanted)(void *data, const char *name, const struct webhdfs_file *file);
	void *data;
};

/* Brings a file or a tree to this machine, as `target`, which must not be there: content, times of
 * files, and permissions as far as they leave everything to its owner. `choice` and `progress` may
 * be NULL; the latter is told the bytes of all files so far. What has come stays when it fails. */
int webhdfs_fetch(struct webhdfs_client *client, const char *path, const char *target,
		  const struct webhdfs_choice *choice, const struct webhdfs_progress *progress,
		  struct err *err);

/* With everything in it. Nothing there: fine. */
int webhdfs_remove(struct webhdfs_client *client, const char *path, struct err *err);

/* As webhdfs_async_rename(). */
int webhdfs_rename(struct webhdfs_client *client, const char *from, const char *to, bool overwrite,
		   struct err *err);

int webhdfs_set_permission(struct webhdfs_client *client, const char *path, unsigned permission,
			   struct err *err);
/* -1: the time stays as it is. */
int webhdfs_set_times(struct webhdfs_client *client, const char *path, int64_t modified_ms,
		      int64_t accessed_ms, struct err *err);

#endif
