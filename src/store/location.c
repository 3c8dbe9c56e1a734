#include "store/location.h"

#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"

#define FILE_SCHEME "file://"
#define HDFS_SCHEME "hdfs://"

void store_location_finish(struct store_location *location)
{
	free(location->authority);
	free(location->path);
	*location = (struct store_location){0};
}

static const char *split(const char *text, struct store_location *location)
{
	const char *start = text + strlen(HDFS_SCHEME);

	if (str_starts_with(text, FILE_SCHEME)) {
		location->kind = STORE_FILE;
		return text + strlen(FILE_SCHEME);
	}
	if (!str_starts_with(text, HDFS_SCHEME))
		return text;
	location->kind = STORE_HDFS;
	location->authority = mem_strndup(start, strcspn(start, "/"));
	return start + strcspn(start, "/");
}

int store_location_parse(const char *text, struct store_location *location, struct err *err)
{
	struct store_location found = {0};
	const char *path = split(text, &found);

	if (found.kind == STORE_HDFS && !*path)
		path = "/";
	if (*path != '/') {
		store_location_finish(&found);
		return err_set(err, ERR_CONFIG,
			       "\"%s\" is no place for files; write /PATH, file:///PATH "
			       "or hdfs://NAMESERVICE/PATH",
			       text);
	}
	found.path = fs_absolute(path, NULL);
	*location = found;
	return 0;
}
