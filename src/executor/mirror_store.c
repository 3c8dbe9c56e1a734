#include "executor/mirror_store.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "store/store.h"

enum { DIRECTORY_MODE = 0700, FILE_MODE = 0600 };

struct mirror_store {
	struct store *store;
	char *root; /* "worker-0"; "": the store's own */
	char *part; /* the file on its way */
	mirror_done *done;
	void *done_data;

	struct mirror_files *files;  /* of a list */
	struct str_list directories; /* still to be listed, below the root; "" is that */
	size_t next;		     /* of `directories` */
	struct str_list made;	     /* directories that are known to be there */
	char *path;		     /* of the call in progress */
	struct mirror_file *file;    /* being stored; its time as it was when that began */
	int fd;			     /* of it */
	struct store_progress watch; /* of an object on its way */
};

/* A bucket's lists and its answers about one object agree to the second. */
static int64_t time_of(const struct mirror_store *store, const struct store_item *item)
{
	int64_t grain_ms = store_traits(store->store)->holds_objects ? 1000 : 1;

	return item->modified_ms / grain_ms * grain_ms * MIRROR_NS_PER_MS;
}

static char *join(const char *above, const char *below)
{
	return *above && *below ? fs_join(above, below) : mem_strdup(*above ? above : below);
}

static void end(struct mirror_store *store, const struct err *err)
{
	mem_replace(&store->path, NULL);
	store->done(store->done_data, err);
}

static void on_last(void *data, const struct store_answer *answer, const struct err *err)
{
	end(data, err);
}

static void begin(struct mirror_store *store, const char *path, mirror_done *done, void *done_data)
{
	store->done = done;
	store->done_data = done_data;
	mem_replace(&store->path, join(store->root, path));
}

/* ---- list --------------------------------------------------------------------------------- */

static void list_next(struct mirror_store *store);

static void on_entry(void *data, const struct store_item *item)
{
	struct mirror_store *store = data;
	char *path cleanup_free = join(store->directories.items[store->next], item->name);

	if (str_equal(path, MIRROR_STORE_PARTS))
		return;
	if (item->is_directory)
		str_list_add(&store->directories, path);
	else if (item->is_file)
		mirror_files_add(store->files, path, item->length, time_of(store, item));
}

static void on_listed(void *data, const struct store_answer *answer, const struct err *err)
{
	struct mirror_store *store = data;

	/* What is not there (any more) holds nothing. */
	if (err && err->kind != ERR_NOT_FOUND) {
		end(store, err);
		return;
	}
	store->next++;
	list_next(store);
}

static void list_next(struct mirror_store *store)
{
	struct err err cleanup_err = {0};

	if (store->next == store->directories.count) {
		end(store, NULL);
		return;
	}
	const char *name = store->directories.items[store->next];
	if (store_check_depth(name, &err) < 0) {
		end(store, &err);
		return;
	}
	char *path cleanup_free = join(store->root, name);
	store_start(store->store, store_list(path, NULL, on_entry, store), on_listed, store);
}

void mirror_store_list(struct mirror_store *store, struct mirror_files *files, mirror_done *done,
		       void *data)
{
	begin(store, "", done, data);
	store->files = files;
	store->next = 0;
	str_list_finish(&store->directories);
	store->directories = (struct str_list){0};
	str_list_add(&store->directories, "");
	list_next(store);
}

/* ---- fetch, remove ------------------------------------------------------------------------ */

void mirror_store_fetch(struct mirror_store *store, const struct mirror_file *file, int fd,
			mirror_done *done, void *data)
{
	begin(store, file->path, done, data);
	/* One byte more would show that it has grown. */
	store_start(store->store, store_download(store->path, NULL, fd, 0, file->length + 1),
		    on_last, store);
}

void mirror_store_remove(struct mirror_store *store, const char *path, mirror_done *done,
			 void *data)
{
	begin(store, path, done, data);
	store_start(store->store, store_remove(store->path), on_last, store);
}

/* ---- put: the bytes, their time, the directory, the name ---------------------------------- */

/* Who writes a new file and renames it never meets this: what is open here stays as it was. */
static bool has_changed(const struct mirror_store *store)
{
	struct stat info;

	return fstat(store->fd, &info) < 0 || mirror_time(&info) != store->file->modified;
}

static void end_stale(struct mirror_store *store)
{
	struct err stale cleanup_err = {0};

	err_set(&stale, ERR_STALE, "%s was written to while it was stored", store->path);
	end(store, &stale);
}

static void give_name(struct mirror_store *store)
{
	if (has_changed(store)) {
		end_stale(store);
		return;
	}
	store->file->told = store->file->modified;
	store_start(store->store, store_rename(store->part, store->path), on_last, store);
}

static char *parent_of(const char *path)
{
	return strchr(path, '/') ? fs_dirname(path) : mem_strdup("");
}

static void on_directory(void *data, const struct store_answer *answer, const struct err *err)
{
	struct mirror_store *store = data;

	if (err) {
		end(store, err);
		return;
	}
	str_list_take(&store->made, parent_of(store->path));
	give_name(store);
}

static void on_timed(void *data, const struct store_answer *answer, const struct err *err)
{
	struct mirror_store *store = data;
	char *parent cleanup_free = parent_of(store->path);

	if (err)
		end(store, err);
	else if (str_list_has(&store->made, parent))
		give_name(store);
	else
		store_start(store->store, store_make_directories(parent, DIRECTORY_MODE),
			    on_directory, store);
}

static void on_uploaded(void *data, const struct store_answer *answer, const struct err *err)
{
	struct mirror_store *store = data;

	if (err)
		end(store, err);
	else
		store_start(store->store,
			    store_set_time(store->part, store->file->modified / MIRROR_NS_PER_MS),
			    on_timed, store);
}

/* ---- put of an object: the bytes under its name, then the time that the store gave it ------ */

/* An object is of one moment, or does not appear: its last bytes have not left yet. */
static bool on_moved(void *data, int64_t bytes)
{
	return !has_changed(data);
}

static void on_object_looked_at(void *data, const struct store_answer *answer,
				const struct err *err)
{
	struct mirror_store *store = data;

	if (!err)
		store->file->told = time_of(store, answer->item);
	end(store, err);
}

static void on_object(void *data, const struct store_answer *answer, const struct err *err)
{
	struct mirror_store *store = data;

	if (err && has_changed(store))
		end_stale(store);
	else if (err)
		end(store, err);
	else
		store_start(store->store, store_stat(store->path), on_object_looked_at, store);
}

void mirror_store_put(struct mirror_store *store, struct mirror_file *file, int fd,
		      mirror_done *done, void *data)
{
	begin(store, file->path, done, data);
	store->fd = fd;
	store->file = file;
	if (store_traits(store->store)->holds_objects) {
		struct store_request object =
			store_upload(store->path, FILE_MODE, fd, file->length);
		object.progress = &store->watch;
		store_start(store->store, object, on_object, store);
		return;
	}
	store_start(store->store, store_upload(store->part, FILE_MODE, fd, file->length),
		    on_uploaded, store);
}

/* ---- open, close -------------------------------------------------------------------------- */

struct mirror_store *mirror_store_open(struct store *store, const char *path, const char *writer)
{
	struct mirror_store *made = mem_alloc(sizeof(*made));

	made->store = store;
	made->root = mem_strdup(path);
	made->watch = (struct store_progress){on_moved, made};
	/* A mark such as "application_1_0001/container_1_0001_01_000002" is no name of a file. */
	made->part = mem_printf(MIRROR_STORE_PARTS "/%s", fs_basename(writer));
	return made;
}

void mirror_store_close(struct mirror_store *store)
{
	store_close(store->store);
	str_list_finish(&store->directories);
	str_list_finish(&store->made);
	free(store->path);
	free(store->root);
	free(store->part);
	free(store);
}
