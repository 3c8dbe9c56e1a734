/* Trees out of HDFS: listed whole first, so that it is known how much is to come. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "hadoop/webhdfs_client.h"

#define DEPTH_CAP 100

struct item {
	char *name; /* below what is fetched; "" is that itself */
	bool is_directory;
	int64_t length, modified_ms;
	mode_t mode;
};

struct fetch {
	struct webhdfs_client *client;
	const char *path, *target;
	const struct webhdfs_choice *choice;
	const struct webhdfs_progress *progress;
	struct item *items; /* a directory before what is in it */
	size_t count;
	int64_t got;
	int fd; /* of the present file */
	bool is_stopped;
	struct err *err;
};

/* The owner can read and write what has come. */
static mode_t mode_of(const struct webhdfs_file *file)
{
	return (file->permission & 0777) | (file->is_directory ? 0700 : 0600);
}

/* ---- what is there ------------------------------------------------------------------------ */

struct listing {
	struct fetch *fetch;
	const char *parent;
};

static void add(struct fetch *fetch, char *name, const struct webhdfs_file *file)
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

static void visit(void *data, const struct webhdfs_file *file)
{
	const struct listing *listing = data;
	const struct webhdfs_choice *choice = listing->fetch->choice;
	const char *parent = listing->parent;
	char *name = *parent ? fs_join(parent, file->name) : mem_strdup(file->name);

	if (choice && !choice->is_wanted(choice->data, name, file))
		free(name);
	else
		add(listing->fetch, name, file);
}

static char *below(const char *path, const char *name)
{
	return *name ? fs_join(path, name) : mem_strdup(path);
}

static int list(struct fetch *fetch, const char *name, int depth)
{
	struct listing listing = {fetch, name};
	char *path cleanup_free = below(fetch->path, name);
	size_t start = fetch->count;

	if (depth > DEPTH_CAP)
		return err_set(fetch->err, ERR_INPUT, "%s: directories are more than %d deep",
			       fetch->path, DEPTH_CAP);
	if (webhdfs_list(fetch->client, path, visit, &listing, fetch->err) < 0)
		return -1;
	for (size_t i = start, end = fetch->count; i < end; i++)
		if (fetch->items[i].is_directory &&
		    list(fetch, fetch->items[i].name, depth + 1) < 0)
			return -1;
	return 0;
}

/* ---- bringing it -------------------------------------------------------------------------- */

static bool on_bytes(void *data, const char *bytes, size_t length)
{
	struct fetch *fetch = data;
	const struct webhdfs_progress *progress = fetch->progress;

	fetch->got += (int64_t)length;
	fetch->is_stopped = fs_write_all(fetch->fd, bytes, length, fetch->err) < 0;
	if (!fetch->is_stopped && progress && !progress->tell(progress->data, fetch->got)) {
		fetch->is_stopped = true;
		err_set(fetch->err, ERR_FAILED, "interrupted");
	}
	return !fetch->is_stopped;
}

static int set_time(const struct fetch *fetch, const struct item *item, const char *target)
{
	const struct timespec time = {.tv_sec = item->modified_ms / 1000,
				      .tv_nsec = item->modified_ms % 1000 * 1000000};
	const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, time};

	return futimens(fetch->fd, times) < 0 ? err_set_errno(fetch->err, "%s", target) : 0;
}

static int fetch_file(struct fetch *fetch, const struct item *item, const char *target)
{
	char *path cleanup_free = below(fetch->path, item->name);
	int fd cleanup_close =
		open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, item->mode);

	if (fd < 0)
		return err_set_errno(fetch->err, "%s", target);
	fetch->fd = fd;
	if (item->length > 0 &&
	    webhdfs_read(fetch->client, path, 0, item->length, on_bytes, fetch, fetch->err) < 0)
		return -1;
	return fetch->is_stopped ? -1 : set_time(fetch, item, target);
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
	struct webhdfs_file file cleanup_webhdfs_file = {0};

	if (webhdfs_stat(fetch->client, fetch->path, &file, fetch->err) < 0)
		return -1;
	add(fetch, mem_strdup(""), &file);
	if (file.is_directory && list(fetch, "", 0) < 0)
		return -1;
	for (size_t i = 0; i < fetch->count; i++)
		if (fetch_item(fetch, &fetch->items[i]) < 0)
			return -1;
	return 0;
}

int webhdfs_fetch(struct webhdfs_client *client, const char *path, const char *target,
		  const struct webhdfs_choice *choice, const struct webhdfs_progress *progress,
		  struct err *err)
{
	struct fetch fetch = {.client = client,
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
