/* Which folders of jobs a store has: the days of its trees. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "history/store_internal.h"

#define FINISHED     "finished"
#define INTERMEDIATE "intermediate"

/* tony.history.finished-dir-timezone could be any: a day begins 14 hours before UTC's at the
 * earliest, and ends 12 hours after it at the latest. */
#define HOUR_MS	       ((int64_t)3600 * 1000)
#define MOST_AHEAD_MS  (14 * HOUR_MS)
#define MOST_BEHIND_MS (12 * HOUR_MS)

void store_open_trees(struct history_store *store)
{
	store->has_days = true;
	str_list_add(&store->finished, FINISHED);
	str_list_add(&store->intermediate, INTERMEDIATE);
}

void history_store_add_tree(struct history_store *store, enum history_tree tree, const char *name)
{
	struct str_list *names = tree == HISTORY_FINISHED ? &store->finished : &store->intermediate;

	if (!str_list_has(names, name))
		str_list_add(names, name);
}

void history_store_clear_trees(struct history_store *store)
{
	store->has_days = false;
	str_list_finish(&store->finished);
	str_list_finish(&store->intermediate);
}

void history_folders_finish(struct history_folders *folders)
{
	for (size_t i = 0; i < folders->count; i++)
		free(folders->items[i].path);
	free(folders->items);
	*folders = (struct history_folders){0};
}

static void add_folder(struct history_folders *folders, char *path, int64_t modified_ms)
{
	folders->items =
		mem_realloc_array(folders->items, folders->count + 1, sizeof(*folders->items));
	folders->items[folders->count++] =
		(struct history_folder){.path = path, .modified_ms = modified_ms};
}

/* Which of a directory's members are wanted: those with names of so many digits. */
struct level {
	struct history_folders *found;
	const char *parent;
	size_t digits;
};

static void on_level(void *data, const struct store_item *item)
{
	const struct level *level = data;

	if (item->is_directory && strspn(item->name, "0123456789") == level->digits &&
	    item->name[level->digits] == '\0')
		add_folder(level->found,
			   *level->parent ? mem_printf("%s/%s", level->parent, item->name)
					  : mem_strdup(item->name),
			   item->modified_ms);
}

/* Any user may have made the directory. */
static int list_level(struct history_store *store, struct level *level, struct err *err)
{
	struct err why cleanup_err = {0};

	if (store_entries(store, level->parent, on_level, level, &why) == 0 ||
	    (*level->parent && store_pass_over(store, &why)))
		return 0;
	return err_copy(err, &why);
}

/* One more level below each of `parents`, which are freed. */
static int descend(struct history_store *store, struct history_folders *parents, size_t digits,
		   struct err *err)
{
	struct history_folders found = {0};
	int result = 0;

	for (size_t i = 0; i < parents->count && result == 0; i++) {
		struct level level = {&found, parents->items[i].path, digits};
		result = list_level(store, &level, err);
	}
	history_folders_finish(parents);
	*parents = found;
	return result;
}

/* The days below `tree`. */
static int find_days(struct history_store *store, const char *tree, struct history_folders *days,
		     struct err *err)
{
	static const size_t digits[] = {4, 2, 2};

	add_folder(days, mem_strdup(tree), 0);
	for (size_t i = 0; i < array_length(digits); i++)
		if (descend(store, days, digits[i], err) < 0)
			return -1;
	return 0;
}

/* Of "2026/11/21" or "finished/2026/11/21"; false: no such day. */
static bool parse_day(const char *path, bool is_tony, struct history_folder *folder)
{
	const char *start = is_tony ? strchr(path, '/') + 1 : path;
	struct tm tm = {0};
	const char *end = strptime(start, "%Y/%m/%d", &tm);

	if (!end || *end)
		return false;
	folder->day_ms = (int64_t)timegm(&tm) * 1000;
	folder->end_ms = folder->day_ms + HISTORY_DAY_MS;
	if (is_tony) {
		folder->day_ms -= MOST_AHEAD_MS;
		folder->end_ms += MOST_BEHIND_MS;
	}
	return true;
}

static int newest_day_first(const void *left, const void *right)
{
	const struct history_folder *a = left, *b = right;

	if (a->day_ms != b->day_ms)
		return a->day_ms < b->day_ms ? 1 : -1;
	return strcmp(a->path, b->path);
}

/* Takes those of `days` that a calendar has. */
static void take_days(struct history_folders *folders, struct history_folders *days, bool is_tony)
{
	for (size_t i = 0; i < days->count; i++) {
		struct history_folder *day = &days->items[i];
		if (!parse_day(day->path, is_tony, day))
			continue;
		add_folder(folders, mem_steal(&day->path), day->modified_ms);
		folders->items[folders->count - 1].day_ms = day->day_ms;
		folders->items[folders->count - 1].end_ms = day->end_ms;
	}
	history_folders_finish(days);
}

static int add_tree(struct history_store *store, const char *tree, struct history_folders *folders,
		    struct err *err)
{
	struct history_folders days cleanup_history_folders = {0};

	if (find_days(store, tree, &days, err) < 0)
		return -1;
	take_days(folders, &days, *tree);
	return 0;
}

static int add_days(struct history_store *store, struct history_folders *folders, struct err *err)
{
	if (store->has_days && add_tree(store, "", folders, err) < 0)
		return -1;
	for (size_t i = 0; i < store->finished.count; i++)
		if (add_tree(store, store->finished.items[i], folders, err) < 0)
			return -1;
	return 0;
}

struct intermediate_search {
	const struct str_list *names;
	struct history_folders *folders;
};

static void on_intermediate(void *data, const struct store_item *item)
{
	const struct intermediate_search *search = data;

	if (item->is_directory && str_list_has(search->names, item->name))
		add_folder(search->folders, mem_strdup(item->name), item->modified_ms);
}

int history_store_folders(struct history_store *store, struct history_folders *folders,
			  struct err *err)
{
	struct intermediate_search search = {&store->intermediate, folders};

	*folders = (struct history_folders){0};
	int result = add_days(store, folders, err);
	if (result == 0 && folders->count > 1)
		qsort(folders->items, folders->count, sizeof(*folders->items), newest_day_first);
	if (result == 0)
		result = store_entries(store, "", on_intermediate, &search, err);
	if (result < 0)
		history_folders_finish(folders);
	return result;
}
