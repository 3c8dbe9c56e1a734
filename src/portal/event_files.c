#include "portal/event_files.h"

#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/map.h"
#include "base/mem.h"

enum { FOUND_CAP = 100000 }; /* event files that are looked at */

struct item {
	char *name; /* below the directory; "" is that itself */
	int depth;
	int64_t length, modified_ms;
};

struct items {
	struct item *items;
	size_t count;
};

struct copy {
	const struct event_files *files;
	const char *target;
	struct items directories; /* the first ones are looked into already */
	struct items events;
	size_t chosen;	/* of `events`, the first ones */
	size_t ignored; /* directories */
	struct err *err;
	int result;
};

static void add(struct items *items, char *name, int depth, const struct store_item *file)
{
	items->items = mem_realloc_array(items->items, items->count + 1, sizeof(*items->items));
	items->items[items->count++] = (struct item){.name = name,
						     .depth = depth,
						     .length = file->length,
						     .modified_ms = file->modified_ms};
}

static void finish(struct items *items)
{
	for (size_t i = 0; i < items->count; i++)
		free(items->items[i].name);
	free(items->items);
}

static int check_owner(const struct copy *copy, const char *name, const struct store_item *file)
{
	if (str_equal(file->owner, copy->files->owner))
		return 0;
	return err_set(copy->err, ERR_DENIED,
		       "%s%s%s: is %s's; only what is %s's, whose job it is, is read here",
		       store_root(copy->files->store), *name ? "/" : "", name, file->owner,
		       copy->files->owner);
}

/* ---- what is there ------------------------------------------------------------------------ */

struct listing {
	struct copy *copy;
	const char *parent;
	int depth;
};

static void visit(void *data, const struct store_item *file)
{
	const struct listing *listing = data;
	struct copy *copy = listing->copy;

	if (copy->result < 0 ||
	    (!file->is_directory && (!file->is_file || !strstr(file->name, "tfevents"))))
		return;
	if (file->is_directory && (listing->depth == EVENT_FILES_DEPTH ||
				   copy->directories.count == EVENT_FILES_DIRECTORIES_MAX)) {
		copy->ignored++;
		return;
	}
	char *name =
		*listing->parent ? fs_join(listing->parent, file->name) : mem_strdup(file->name);
	copy->result = check_owner(copy, name, file);
	if (copy->result == 0 && copy->events.count == FOUND_CAP)
		copy->result = err_set(copy->err, ERR_INPUT, "%s: has more than %d event files",
				       store_root(copy->files->store), FOUND_CAP);
	add(file->is_directory ? &copy->directories : &copy->events, name, listing->depth + 1,
	    file);
}

static int find(struct copy *copy)
{
	struct store *store = copy->files->store;
	struct store_item top cleanup_store_item = {0};

	if (store_look(store, "", &top, copy->err) < 0 || check_owner(copy, "", &top) < 0)
		return -1;
	if (!top.is_directory)
		return err_set(copy->err, ERR_NOT_FOUND, "%s: is no directory", store_root(store));
	add(&copy->directories, mem_strdup(""), 0, &top);
	for (size_t i = 0; i < copy->directories.count; i++) {
		const struct item *item = &copy->directories.items[i];
		struct listing listing = {copy, item->name, item->depth};
		if (store_run(store, store_list(item->name, copy->files->owner, visit, &listing),
			      copy->err) < 0 ||
		    copy->result < 0)
			return -1;
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct item *one = a, *other = b;

	if (one->modified_ms != other->modified_ms)
		return one->modified_ms < other->modified_ms ? 1 : -1;
	return strcmp(one->name, other->name);
}

/* The newest, as far as they fit. */
static void choose(struct copy *copy)
{
	const struct items *events = &copy->events;
	int64_t room = copy->files->cap;

	if (events->count > 1)
		qsort(events->items, events->count, sizeof(*events->items), compare);
	while (copy->chosen < events->count && copy->chosen < EVENT_FILES_MAX &&
	       events->items[copy->chosen].length <= room)
		room -= events->items[copy->chosen++].length;
}

static char *describe(const struct copy *copy)
{
	struct str text cleanup_str = {0};
	const struct items *events = &copy->events;
	int64_t bytes = 0;

	for (size_t i = copy->chosen; i < events->count; i++)
		bytes += events->items[i].length >> 10;
	if (copy->chosen < events->count)
		str_append_format(&text,
				  "the oldest %zu of %zu event files (%" PRId64
				  " KiB) are left out: at most %" PRId64
				  " KiB and %d files are copied",
				  events->count - copy->chosen, events->count, bytes,
				  copy->files->cap >> 10, EVENT_FILES_MAX);
	if (copy->ignored > 0)
		str_append_format(&text,
				  "%s%zu director%s left out: at most %d, %d deep, are looked into",
				  text.length > 0 ? "; " : "", copy->ignored,
				  copy->ignored == 1 ? "y is" : "ies are",
				  EVENT_FILES_DIRECTORIES_MAX, EVENT_FILES_DEPTH);
	return text.length > 0 ? str_steal(&text) : NULL;
}

/* ---- bringing it -------------------------------------------------------------------------- */

static int remove_all_but(const struct map *kept, const char *target, struct err *err)
{
	char *const roots[] = {(char *)target, NULL};
	FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	const FTSENT *entry;
	int result = tree ? 0 : err_set_errno(err, "%s", target);

	while (result == 0 && (entry = fts_read(tree)))
		if (entry->fts_info == FTS_F && !map_get(kept, entry->fts_path) &&
		    unlink(entry->fts_path) < 0)
			result = err_set_errno(err, "%s", entry->fts_path);
	if (tree)
		fts_close(tree);
	return result;
}

/* What is no more there, or does not fit any more. */
static int remove_others(const struct copy *copy)
{
	struct map *kept = map_create(NULL);

	for (size_t i = 0; i < copy->chosen; i++) {
		char *path cleanup_free = fs_join(copy->target, copy->events.items[i].name);
		map_set(kept, path, copy->events.items[i].name);
	}
	int result = remove_all_but(kept, copy->target, copy->err);
	map_destroy(kept);
	return result;
}

/* The bytes behind `have`. Where the store can hold on to the file, its owner is known before it is
 * read; where not, another file may have been put in its place, so its owner is looked at again. */
static int read_rest(const struct copy *copy, const struct item *item, int fd, int64_t have)
{
	struct store *store = copy->files->store;
	struct store_item file cleanup_store_item = {0};
	char *held cleanup_free = NULL;

	if (store_hold(store, item->name, &held, &file.owner, copy->err) < 0 ||
	    (file.owner && check_owner(copy, item->name, &file) < 0))
		return -1;
	if (have < item->length &&
	    store_run(store,
		      store_download(held, copy->files->owner, fd, have, item->length - have),
		      copy->err) < 0)
		return file.owner ? err_rename(copy->err, held, item->name) : -1;
	if (!file.owner && (store_look(store, item->name, &file, copy->err) < 0 ||
			    check_owner(copy, item->name, &file) < 0))
		return -1;
	return 0;
}

static int set_time(int fd, const struct item *item, struct err *err)
{
	const struct timespec times[] = {{.tv_nsec = UTIME_OMIT},
					 {.tv_sec = (time_t)(item->modified_ms / 1000),
					  .tv_nsec = (long)(item->modified_ms % 1000) * 1000000}};

	return futimens(fd, times) < 0 ? err_set_errno(err, "%s", item->name) : 0;
}

/* What is there of it has its time only when it is whole. */
static int update(const struct copy *copy, const struct item *item)
{
	char *target cleanup_free = fs_join(copy->target, item->name);
	char *parent cleanup_free = fs_dirname(target);
	struct stat about;

	if (fs_make_directories(parent, 0700, copy->err) < 0)
		return -1;
	int fd cleanup_close = open(target, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || fstat(fd, &about) < 0)
		return err_set_errno(copy->err, "%s", target);
	if (about.st_size == item->length && fs_modified_ms(&about) == item->modified_ms)
		return 0;
	if (about.st_size >= item->length && ftruncate(fd, about.st_size = 0) < 0)
		return err_set_errno(copy->err, "%s", target);
	int result = read_rest(copy, item, fd, about.st_size);
	if (result == 0)
		result = set_time(fd, item, copy->err);
	if (result < 0 && copy->err && copy->err->kind == ERR_DENIED)
		unlink(target);
	return result;
}

int event_files_copy(const struct event_files *files, const char *target, char **left_out,
		     struct err *err)
{
	struct copy copy = {.files = files, .target = target, .err = err};
	int result = find(&copy);

	*left_out = NULL;
	if (result == 0) {
		choose(&copy);
		result = remove_others(&copy);
	}
	for (size_t i = 0; i < copy.chosen && result == 0; i++)
		result = update(&copy, &copy.events.items[i]);
	if (result == 0)
		*left_out = describe(&copy);
	finish(&copy.directories);
	finish(&copy.events);
	return result;
}
