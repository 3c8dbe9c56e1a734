#include "executor/hdfs_store.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/mem.h"
#include "hadoop/webhdfs_async.h"
#include "store/access.h"

#define PART_DIRECTORY HDFS_STORE_PARTS

enum { DIRECTORY_MODE = 0700, FILE_MODE = 0600 };

struct hdfs_store {
	struct webhdfs_async *client;
	char *root; /* "/user/alice/.tony/checkpoints/application_1_0001" */
	char *part; /* the file on its way */
	mirror_done *done;
	void *done_data;

	struct mirror_files *files;  /* of list() */
	struct str_list directories; /* still to be listed, relative; "" is the root */
	size_t next;		     /* of `directories` */
	struct str_list made;	     /* directories that are known to be there */
	char *path;		     /* of the call in progress, absolute */
	int fd;			     /* of the file being stored */
	int64_t modified;	     /* as it was when that began, ns */
};

/* ---- ends --------------------------------------------------------------------------------- */

static void end(struct hdfs_store *store, const struct err *err)
{
	mem_replace(&store->path, NULL);
	store->done(store->done_data, err);
}

static void on_last(void *data, const struct webhdfs_result *result, const struct err *err)
{
	end(data, err);
}

static void begin(struct hdfs_store *store, const char *path, mirror_done *done, void *done_data)
{
	store->done = done;
	store->done_data = done_data;
	mem_replace(&store->path, path ? fs_join(store->root, path) : NULL);
}

/* ---- list --------------------------------------------------------------------------------- */

static void list_next(struct hdfs_store *store);

static void on_entry(void *data, const struct webhdfs_file *file)
{
	struct hdfs_store *store = data;
	const char *directory = store->directories.items[store->next];
	char *path cleanup_free =
		*directory ? fs_join(directory, file->name) : mem_strdup(file->name);

	if (str_equal(path, PART_DIRECTORY))
		return;
	if (file->is_directory)
		str_list_add(&store->directories, path);
	else
		mirror_files_add(store->files, path, file->length,
				 file->modified_ms * MIRROR_NS_PER_MS);
}

static void on_listed(void *data, const struct webhdfs_result *result, const struct err *err)
{
	struct hdfs_store *store = data;

	/* What is not there (any more) holds nothing. */
	if (err && err->kind != ERR_NOT_FOUND) {
		end(store, err);
		return;
	}
	store->next++;
	list_next(store);
}

static void list_next(struct hdfs_store *store)
{
	if (store->next == store->directories.count) {
		end(store, NULL);
		return;
	}
	const char *directory = store->directories.items[store->next];
	char *path cleanup_free =
		*directory ? fs_join(store->root, directory) : mem_strdup(store->root);
	webhdfs_async_list(store->client, path, on_entry, on_listed, store);
}

static void store_list(void *data, struct mirror_files *files, mirror_done *done, void *done_data)
{
	struct hdfs_store *store = data;

	begin(store, NULL, done, done_data);
	store->files = files;
	store->next = 0;
	str_list_finish(&store->directories);
	store->directories = (struct str_list){0};
	str_list_add(&store->directories, "");
	list_next(store);
}

/* ---- fetch, remove ------------------------------------------------------------------------ */

static void store_fetch(void *data, const struct mirror_file *file, int fd, mirror_done *done,
			void *done_data)
{
	struct hdfs_store *store = data;

	begin(store, file->path, done, done_data);
	/* One byte more would show that it has grown. */
	webhdfs_async_download(store->client, store->path, fd, 0, file->length + 1, on_last, store);
}

static void store_remove(void *data, const char *path, mirror_done *done, void *done_data)
{
	struct hdfs_store *store = data;

	begin(store, path, done, done_data);
	webhdfs_async_remove(store->client, store->path, on_last, store);
}

/* ---- store: the bytes, their time, the directory, the name -------------------------------- */

/* Who writes a new file and renames it never meets this: what is open here stays as it was. */
static bool has_changed(const struct hdfs_store *store)
{
	struct stat info;

	return fstat(store->fd, &info) < 0 || mirror_time(&info) != store->modified;
}

static void give_name(struct hdfs_store *store)
{
	struct err stale cleanup_err = {0};

	if (has_changed(store)) {
		err_set(&stale, ERR_STALE, "%s was written to while it was stored", store->path);
		end(store, &stale);
		return;
	}
	webhdfs_async_rename(store->client, store->part, store->path, true, on_last, store);
}

static void on_directory(void *data, const struct webhdfs_result *result, const struct err *err)
{
	struct hdfs_store *store = data;

	if (err) {
		end(store, err);
		return;
	}
	str_list_take(&store->made, fs_dirname(store->path));
	give_name(store);
}

static void on_timed(void *data, const struct webhdfs_result *result, const struct err *err)
{
	struct hdfs_store *store = data;
	char *parent cleanup_free = fs_dirname(store->path);

	if (err)
		end(store, err);
	else if (str_list_has(&store->made, parent))
		give_name(store);
	else
		webhdfs_async_make_directories(store->client, parent, DIRECTORY_MODE, on_directory,
					       store);
}

static void on_uploaded(void *data, const struct webhdfs_result *result, const struct err *err)
{
	struct hdfs_store *store = data;

	if (err)
		end(store, err);
	else
		webhdfs_async_set_times(store->client, store->part,
					store->modified / MIRROR_NS_PER_MS, -1, on_timed, store);
}

static void store_store(void *data, const struct mirror_file *file, int fd, mirror_done *done,
			void *done_data)
{
	struct hdfs_store *store = data;
	const struct webhdfs_create create = {.permission = FILE_MODE, .overwrite = true};

	begin(store, file->path, done, done_data);
	store->fd = fd;
	store->modified = file->modified;
	webhdfs_async_upload(store->client, store->part, &create, fd, file->length, NULL,
			     on_uploaded, store);
}

/* ---- open, close -------------------------------------------------------------------------- */

static void store_close(void *data)
{
	struct hdfs_store *store = data;

	webhdfs_async_destroy(store->client);
	str_list_finish(&store->directories);
	str_list_finish(&store->made);
	free(store->path);
	free(store->root);
	free(store->part);
	free(store);
}

/* NULL: it is not of the job's HDFS. */
static const char *path_of(const struct store_access *access, const char *url, struct err *err)
{
	const char *path = access->has_hdfs ? hdfs_access_path(&access->hdfs, url) : NULL;

	if (!path)
		err_set(err, ERR_CONFIG, "%s is not in this cluster's file system, %s", url,
			access->has_hdfs ? access->hdfs.fs : "which is no HDFS");
	return path;
}

int hdfs_store_open(const struct store_access *access, const char *url, const char *parts,
		    const char *writer, struct event_base *base, struct mirror_store *store,
		    struct err *err)
{
	const struct webhdfs_options options = hdfs_access_webhdfs(&access->hdfs);
	const char *root = path_of(access, url, err);
	const char *part_root = root ? path_of(access, parts, err) : NULL;
	struct webhdfs_async *client = part_root ? webhdfs_async_create(base, &options, err) : NULL;

	if (!client)
		return -1;
	struct hdfs_store *made = mem_alloc(sizeof(*made));
	made->client = client;
	made->root = mem_strdup(root);
	/* A mark such as "application_1_0001/container_1_0001_01_000002" is no name of a file. */
	made->part = mem_printf("%s/" PART_DIRECTORY "/%s", part_root, fs_basename(writer));
	*store = (struct mirror_store){made,	    store_list,	  store_fetch,
				       store_store, store_remove, store_close};
	return 0;
}
