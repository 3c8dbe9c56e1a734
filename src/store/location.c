#include "store/location.h"

#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/url.h"

#define FILE_SCHEME "file://"
#define HDFS_SCHEME "hdfs://"
#define S3_SCHEME   "s3://"

void store_location_finish(struct store_location *location)
{
	free(location->authority);
	free(location->path);
	*location = (struct store_location){0};
}

static const char *split(const char *text, struct store_location *location)
{
	bool is_s3 = str_starts_with(text, S3_SCHEME);
	const char *start = text + strlen(is_s3 ? S3_SCHEME : HDFS_SCHEME);

	if (str_starts_with(text, FILE_SCHEME)) {
		location->kind = STORE_FILE;
		return text + strlen(FILE_SCHEME);
	}
	if (!is_s3 && !str_starts_with(text, HDFS_SCHEME))
		return text;
	location->kind = is_s3 ? STORE_S3 : STORE_HDFS;
	location->authority = mem_strndup(start, strcspn(start, "/"));
	return start + strcspn(start, "/");
}

bool store_location_is_remote(const struct store_location *location)
{
	return location->kind == STORE_HDFS || location->kind == STORE_S3;
}

bool store_location_is_foreign(const char *text)
{
	struct store_location found cleanup_store_location = {0};

	split(text, &found);
	return found.kind == STORE_PATH && strstr(text, "://");
}

/* As S3 has them; a name becomes part of a host's. */
static int check_bucket(const char *name, struct err *err)
{
	size_t length = strlen(name);

	if (length >= 3 && length <= 63 && *name != '.' && *name != '-' && !strstr(name, "..") &&
	    strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789.-") == length)
		return 0;
	char *shown cleanup_free = net_url_masked(name);
	return err_set(err, ERR_CONFIG,
		       "\"%s\" is no name of a bucket; write s3://BUCKET/PATH, with 3 to 63 "
		       "lower-case letters, digits, dots and dashes",
		       shown);
}

int store_location_parse(const char *text, struct store_location *location, struct err *err)
{
	struct store_location found cleanup_store_location = {0};
	const char *path = split(text, &found);

	if (found.kind == STORE_S3 && check_bucket(found.authority, err) < 0)
		return -1;
	if (found.authority && !*path)
		path = "/";
	char *shown cleanup_free = net_url_masked(text);
	if (*path != '/')
		return err_set(err, ERR_CONFIG,
			       "\"%s\" is no place for files; write /PATH, file:///PATH, "
			       "hdfs://NAMESERVICE/PATH or s3://BUCKET/PATH",
			       shown);
	found.path = fs_absolute(path, NULL);
	*location = found;
	found = (struct store_location){0};
	return 0;
}
