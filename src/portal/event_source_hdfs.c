#include "base/fs.h"
#include "base/mem.h"
#include "portal/event_source.h"

static char *path_of(const struct event_files *files, const char *name)
{
	return *name ? fs_join(files->path, name) : mem_strdup(files->path);
}

static int stat_file(const struct event_files *files, const char *name, struct webhdfs_file *file,
		     struct err *err)
{
	char *path cleanup_free = path_of(files, name);

	return webhdfs_stat(files->client, path, file, err);
}

static int list(const struct event_files *files, const char *name,
		void (*visit)(void *data, const struct webhdfs_file *file), void *data,
		struct err *err)
{
	char *path cleanup_free = path_of(files, name);

	return webhdfs_list(files->client, path, visit, data, err);
}

static int read_file(const struct event_files *files, const char *name, int64_t offset,
		     int64_t length, bool (*on_bytes)(void *data, const char *bytes, size_t length),
		     void *data, struct err *err)
{
	char *path cleanup_free = path_of(files, name);

	return webhdfs_read(files->client, path, offset, length, on_bytes, data, err);
}

const struct event_source event_source_hdfs = {
	.stat = stat_file,
	.list = list,
	.read = read_file,
};
