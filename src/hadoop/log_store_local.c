/* Aggregated logs in directories of this machine. */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "hadoop/aggregated.h"

static int list(struct log_store *store, const char *path,
		void (*visit)(void *data, const struct log_store_entry *entry), void *data,
		struct err *err)
{
	DIR *directory cleanup_dir = opendir(path);
	const struct dirent *found;
	struct stat info;

	if (!directory)
		return err_set_errno(err, "%s", path);
	while ((found = readdir(directory))) {
		if (strcmp(found->d_name, ".") == 0 || strcmp(found->d_name, "..") == 0 ||
		    fstatat(dirfd(directory), found->d_name, &info, 0) < 0)
			continue;
		visit(data, &(struct log_store_entry){.name = found->d_name,
						      .is_directory = S_ISDIR(info.st_mode),
						      .length = info.st_size,
						      .modified_ms = fs_modified_ms(&info)});
	}
	return 0;
}

static int read_range(struct log_store *store, const char *path, int64_t offset, void *bytes,
		      size_t length, struct err *err)
{
	int fd cleanup_close = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return err_set_errno(err, "%s", path);
	return fs_read_at(fd, path, offset, bytes, length, err);
}

static void destroy(struct log_store *store)
{
	free(store);
}

struct log_store *log_store_local(void)
{
	static const struct log_store_ops ops = {
		.list = list, .read = read_range, .destroy = destroy};
	struct log_store *store = mem_alloc(sizeof(*store));

	store->ops = &ops;
	return store;
}
