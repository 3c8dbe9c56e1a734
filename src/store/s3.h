/* A store in a bucket of S3: the client, as webhdfs_async.h is that of HDFS. */
#ifndef TONY_STORE_S3_H
#define TONY_STORE_S3_H

#include <stdint.h>

#include "base/err.h"

struct event_base;
struct s3_access;
struct s3_client;

/* `access` is copied. `path`: absolute; keys begin with what is behind its slash. `wait_ms` as for
 * store_open(). NULL: `err`. */
struct s3_client *s3_client_create(struct event_base *base, const struct s3_access *access,
				   const char *bucket, const char *path, int64_t wait_ms,
				   struct err *err);
/* After its calls are cancelled. NULL is fine. */
void s3_client_destroy(struct s3_client *client);

#endif
