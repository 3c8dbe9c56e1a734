/* Where a store is, as keys such as tony.history.location say it. */
#ifndef TONY_STORE_LOCATION_H
#define TONY_STORE_LOCATION_H

#include <stdbool.h>

#include "base/err.h"

enum store_kind {
	STORE_PATH, /* "/path": of this machine, or of a cluster's own file system */
	STORE_FILE, /* "file:///path": of this machine */
	STORE_HDFS, /* "hdfs://authority/path", "viewfs://authority/path" */
	STORE_S3,   /* "s3://bucket/path" */
};

struct store_location {
	enum store_kind kind;
	bool is_view;	 /* of STORE_HDFS: "viewfs://" */
	char *authority; /* of STORE_HDFS, as it stands there; may be empty. Of STORE_S3, the bucket
			  */
	char *path;	 /* absolute, without "." and ".." and without a slash at its end */
};
void store_location_finish(struct store_location *location);
#define cleanup_store_location __attribute__((cleanup(store_location_finish)))

/* As its text, with `path` in place of its own. The caller frees. */
char *store_location_url(const struct store_location *location, const char *path);

/* Others than this machine have to be asked. */
bool store_location_is_remote(const struct store_location *location);

/* It has a scheme, and none of these. */
bool store_location_is_foreign(const char *text);

/* ERR_CONFIG: it is none of these. */
int store_location_parse(const char *text, struct store_location *location, struct err *err);

#endif
