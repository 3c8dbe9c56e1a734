#include "store/location.h"

#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "hadoop/hdfs_access.h"
#include "net/url.h"

void store_location_finish(struct store_location *location)
{
	free(location->authority);
	free(location->path);
	*location = (struct store_location){0};
}

static const struct {
	const char *scheme;
	enum store_kind kind;
	bool is_view;
} schemes[] = {
	{"file://", STORE_FILE, false},
	{HDFS_SCHEME, STORE_HDFS, false},
	{"viewfs://", STORE_HDFS, true},
	{"s3://", STORE_S3, false},
};

static const char *split(const char *text, struct store_location *location)
{
	for (size_t i = 0; i < array_length(schemes); i++) {
		if (!str_starts_with(text, schemes[i].scheme))
			continue;
		text += strlen(schemes[i].scheme);
		location->kind = schemes[i].kind;
		location->is_view = schemes[i].is_view;
		if (location->kind == STORE_FILE)
			return text;
		location->authority = mem_strndup(text, strcspn(text, "/"));
		return text + strcspn(text, "/");
	}
	return text;
}

char *store_location_url(const struct store_location *location, const char *path)
{
	for (size_t i = 0; i < array_length(schemes); i++)
		if (location->kind == schemes[i].kind && location->is_view == schemes[i].is_view)
			return mem_printf("%s%s%s", schemes[i].scheme,
					  location->authority ? location->authority : "", path);
	return mem_strdup(path);
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
