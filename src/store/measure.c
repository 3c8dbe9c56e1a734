/* How much a tree of a store holds, how old that is, and whose. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/store.h"

struct level {
	const char *path;
	struct str_list *directories; /* in which to look, this level's last */
	struct store_measure *measure;
	const char *owner;	   /* of all directories; NULL: nobody asks */
	char *foreign, *foreigner; /* the first that is another user's, and whose */
};

/* Files can claim any length: holes take no room. */
static void add_length(struct store_measure *measure, int64_t length)
{
	if (__builtin_add_overflow(measure->bytes, length, &measure->bytes))
		measure->bytes = INT64_MAX;
}

static void on_item(void *data, const struct store_item *item)
{
	const struct level *level = data;

	if (item->modified_ms > level->measure->newest_ms)
		level->measure->newest_ms = item->modified_ms;
	if (item->is_directory)
		str_list_take(level->directories, mem_printf("%s/%s", level->path, item->name));
	else
		add_length(level->measure, item->length);
}

int store_measure(struct store *store, const char *path, struct store_measure *measure,
		  struct err *err)
{
	struct str_list directories cleanup_str_list = {0};

	*measure = (struct store_measure){0};
	str_list_add(&directories, path);
	for (size_t i = 0; i < directories.count; i++) {
		struct err why cleanup_err = {0};
		char *directory cleanup_free = mem_strdup(directories.items[i]);
		struct level level = {
			.path = directory, .directories = &directories, .measure = measure};
		if (store_check_depth(directory + strlen(path), err) < 0)
			return err_wrap(err, "%s", path);
		/* A directory that another process removed meanwhile holds nothing. */
		if (store_run(store, store_list(directory, NULL, on_item, &level), &why) < 0 &&
		    why.kind != ERR_NOT_FOUND)
			return err_copy(err, &why);
	}
	return 0;
}

static void on_owned(void *data, const struct store_item *item)
{
	struct level *level = data;

	if (!item->is_directory)
		return;
	str_list_take(level->directories, mem_printf("%s/%s", level->path, item->name));
	if (level->foreign || str_equal(item->owner, level->owner))
		return;
	level->foreign = mem_printf("%s/%s", level->path, item->name);
	level->foreigner = mem_strdup(item->owner);
}

int store_find_foreign(struct store *store, const char *path, const char *owner, char **name,
		       char **whose, struct err *err)
{
	struct str_list directories cleanup_str_list = {0};
	struct level level = {.directories = &directories, .owner = owner};

	*name = *whose = NULL;
	str_list_add(&directories, path);
	for (size_t i = 0; i < directories.count && !level.foreign; i++) {
		struct err why cleanup_err = {0};
		char *directory cleanup_free = mem_strdup(directories.items[i]);
		level.path = directory;
		/* A directory of this machine that its owner has closed has what he can remove. */
		if (store_run(store, store_list(directory, NULL, on_owned, &level), &why) < 0 &&
		    why.kind != ERR_NOT_FOUND &&
		    !(why.kind == ERR_DENIED && store_traits(store)->is_at_once))
			return err_copy(err, &why);
	}
	char *foreign cleanup_free = level.foreign;
	if (foreign)
		*name = mem_strdup(foreign + strlen(path) + 1);
	*whose = level.foreigner;
	return 0;
}
