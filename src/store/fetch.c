/* Trees out of a store: listed whole first, so that it is known how much is to come. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "store/store.h"

#define PIECE ((int64_t)256 << 20) /* bytes that come again when a connection breaks */

struct item {
	char *name; /* below what is fetched; "" is that itself */
	bool is_directory;
	int64_t length, modified_ms;
	mode_t mode;
};

struct fetch {
	struct store *store;
	const char *path, *target;
	const struct store_choice *choice;
	const struct store_progress *progress;
	struct item *items; /* a directory before what is in it */
	size_t count;
	int64_t got; /* of the items so far, and of the present one's pieces */
	struct err *err;
};

/* The owner can read and write what has come. */
static mode_t mode_of(const struct store_item *file)
{
	return (file->permission & 0777) | (file->is_directory ? 0700 : 0600);
}

/* ---- what is there ------------------------------------------------------------------------ */

struct listing {
	struct fetch *fetch;
	const char *parent;
};

static void add(struct fetch *fetch, char *name, const struct store_item *file)
{
	fetch->items = mem_realloc_array(fetch->items, fetch->count + 1, sizeof(*fetch->items));
	fetch->items[fetch->count++] = (struct item){
		.name = name,
		.is_directory = file->is_directory,
		.length = file->length,
		.modified_ms = file->modified_ms,
		.mode = mode_of(file),
	};
}

/* Symbolic links and the like are nobody's files. */
static void visit(void *data, const struct store_item *file)
{
	const struct listing *listing = data;
	const struct store_choice *choice = listing->fetch->choice;
	const char *parent = listing->parent;
	char *name = *parent ? fs_join(parent, file->name) : mem_strdup(file->name);

	if ((!file->is_file && !file->is_directory) ||
	    (choice && !choice->is_wanted(choice->data, name, file)))
		free(name);
	else
		add(listing->fetch, name, file);
}

static char *below(const char *path, const char *name)
{
	return *name ? fs_join(path, name) : mem_strdup(path);
}

static int list(struct fetch *fetch, const char *name)
{
	struct listing listing = {fetch, name};
	char *path cleanup_free = below(fetch->path, name);
	size_t start = fetch->count;

	if (store_check_depth(name, fetch->err) < 0)
		return err_wrap(fetch->err, "%s", fetch->path);
	if (store_run(fetch->store, store_list(path, NULL, visit, &listing), fetch->err) < 0)
		return -1;
	for (size_t i = start, end = fetch->count; i < end; i++)
		if (fetch->items[i].is_directory && list(fetch, fetch->items[i].name) < 0)
			return -1;
	return 0;
}

/* ---- bringing it -------------------------------------------------------------------------- */

static bool on_progress(void *data, int64_t bytes)
{
	const struct fetch *fetch = data;

	return fetch->progress->tell(fetch->progress->data, fetch->got + bytes);
}

static int set_time(const struct fetch *fetch, const struct item *item, int fd, const char *target)
{
	const struct timespec time = {.tv_sec = item->modified_ms / 1000,
				      .tv_nsec = item->modified_ms % 1000 * 1000000};
	const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, time};

	return futimens(fd, times) < 0 ? err_set_errno(fetch->err, "%s", target) : 0;
}

static int fetch_content(struct fetch *fetch, const struct item *item, int fd)
{
	const struct store_progress progress = {on_progress, fetch};
	char *path cleanup_free = below(fetch->path, item->name);

	for (int64_t offset = 0; offset < item->length; offset += PIECE) {
		int64_t left = item->length - offset, length = left < PIECE ? left : PIECE;
		struct store_request request = store_download(path, NULL, fd, offset, length);
		request.progress = fetch->progress ? &progress : NULL;
		if (store_run(fetch->store, request, fetch->err) < 0)
			return -1;
		fetch->got += length;
	}
	return 0;
}

static int fetch_file(struct fetch *fetch, const struct item *item, const char *target)
{
	int fd cleanup_close =
		open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, item->mode);

	if (fd < 0)
		return err_set_errno(fetch->err, "%s", target);
	return fetch_content(fetch, item, fd) < 0 ? -1 : set_time(fetch, item, fd, target);
}

static int fetch_item(struct fetch *fetch, const struct item *item)
{
	char *target cleanup_free = below(fetch->target, item->name);

	if (!item->is_directory)
		return fetch_file(fetch, item, target);
	return mkdir(target, item->mode) < 0 ? err_set_errno(fetch->err, "%s", target) : 0;
}

static int run(struct fetch *fetch)
{
	struct store_item file cleanup_store_item = {0};

	if (store_look(fetch->store, fetch->path, &file, fetch->err) < 0)
		return -1;
	if (!file.is_file && !file.is_directory)
		return err_set(fetch->err, ERR_NOT_FOUND, "%s/%s: is not a file",
			       store_root(fetch->store), fetch->path);
	add(fetch, mem_strdup(""), &file);
	if (file.is_directory && list(fetch, "") < 0)
		return -1;
	for (size_t i = 0; i < fetch->count; i++)
		if (fetch_item(fetch, &fetch->items[i]) < 0)
			return -1;
	return 0;
}

int store_fetch(struct store *store, const char *path, const char *target,
		const struct store_choice *choice, const struct store_progress *progress,
		struct err *err)
{
	struct fetch fetch = {.store = store,
			      .path = path,
			      .target = target,
			      .choice = choice,
			      .progress = progress,
			      .err = err};
	int result = run(&fetch);

	for (size_t i = 0; i < fetch.count; i++)
		free(fetch.items[i].name);
	free(fetch.items);
	return result;
}
