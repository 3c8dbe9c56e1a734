/* A store in HDFS, which has no symbolic links. */
#include <stdlib.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "hadoop/webhdfs_client.h"
#include "history/store_internal.h"

static char *full_path(const struct history_store *store, const char *path)
{
	return *path ? fs_join(store->root, path) : mem_strdup(store->root);
}

struct visitor {
	store_visit *visit;
	void *data;
};

static void on_file(void *data, const struct webhdfs_file *file)
{
	const struct visitor *visitor = data;
	const struct store_item item = {.name = file->name,
					.is_directory = file->is_directory,
					.length = file->length,
					.modified_ms = file->modified_ms};

	if (*file->name) /* else it is no directory */
		visitor->visit(visitor->data, &item);
}

static int list(struct history_store *store, const char *path, store_visit *visit, void *data,
		struct err *err)
{
	char *full cleanup_free = full_path(store, path);
	struct visitor visitor = {visit, data};

	return webhdfs_list(store->client, full, on_file, &visitor, err);
}

static bool is_directory(struct history_store *store, const char *path)
{
	char *full cleanup_free = full_path(store, path);
	struct webhdfs_file file cleanup_webhdfs_file = {0};

	return webhdfs_stat(store->client, full, &file, NULL) == 0 && file.is_directory;
}

static int look(struct history_store *store, const char *path, struct store_access *access,
		struct err *err)
{
	char *full cleanup_free = full_path(store, path);
	struct webhdfs_file file cleanup_webhdfs_file = {0};

	if (webhdfs_stat(store->client, full, &file, err) < 0)
		return -1;
	access->owner = mem_steal(&file.owner);
	access->permission = file.permission;
	return 0;
}

/* ---- files -------------------------------------------------------------------------------- */

struct download {
	int fd;
	int64_t left;
	struct err *err;
	bool failed;
};

static bool on_bytes(void *data, const char *bytes, size_t length)
{
	struct download *download = data;

	if ((int64_t)length > download->left) {
		err_set(download->err, ERR_INPUT, "is larger than is read");
		download->failed = true;
	} else if (fs_write_all(download->fd, bytes, length, download->err) < 0) {
		download->failed = true;
	}
	download->left -= (int64_t)length;
	return !download->failed;
}

static int open_file(struct history_store *store, const char *path, int64_t cap, char **owner,
		     struct err *err)
{
	char *full cleanup_free = full_path(store, path);
	int fd cleanup_close = store_make_file(err);
	struct download download = {.fd = fd, .left = cap, .err = err};

	if (fd < 0 || webhdfs_read(store->client, full, 0, -1, on_bytes, &download, err) < 0)
		return -1;
	if (download.failed)
		return err_wrap(err, "%s", full);
	if (lseek(fd, 0, SEEK_SET) < 0)
		return err_set_errno(err, "%s", full);
	return mem_steal_fd(&fd);
}

static int remove_path(struct history_store *store, const char *path, struct err *err)
{
	char *full cleanup_free = full_path(store, path);

	return webhdfs_remove(store->client, full, err);
}

const struct store_ops store_hdfs = {
	.list = list,
	.is_directory = is_directory,
	.look = look,
	.open_file = open_file,
	.remove = remove_path,
};
