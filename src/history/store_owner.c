/* Whose an entry of a store is. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/mem.h"
#include "history/store_internal.h"

static void finish(struct store_access *access)
{
	free(access->owner);
}
#define cleanup_access __attribute__((cleanup(finish)))

/* Can nobody but the owners of the entry and of the location replace what is in this directory?
 * Where the sticky bit is set, its owner can, and those of what is in it. */
static int check_folder(struct history_store *store, const char *path, const char *owner,
			const char *keeper, struct err *err)
{
	struct store_access access cleanup_access = {0};

	if (store->ops->look(store, path, &access, err) < 0)
		return -1;
	if (!str_equal(access.owner, owner) && !str_equal(access.owner, keeper))
		return err_set(err, ERR_DENIED,
			       "%s/%s: is %s's, who can replace what %s has put there",
			       store->location, path, access.owner, owner);
	if (fs_others_may_write(access.permission) && !(access.permission & S_ISVTX))
		return err_set(
			err, ERR_DENIED,
			"%s/%s: others than %s can replace what is there; set its sticky bit",
			store->location, path, owner);
	return 0;
}

/* All folders from the location to the one that holds the entry. */
static int check_folders(struct history_store *store, const char *path, const char *owner,
			 struct err *err)
{
	struct store_access top cleanup_access = {0};

	if (store->ops->look(store, "", &top, err) < 0 ||
	    check_folder(store, "", owner, top.owner, err) < 0)
		return -1;
	for (const char *end = strchr(path, '/'); end; end = strchr(end + 1, '/')) {
		char *folder cleanup_free = mem_strndup(path, (size_t)(end - path));
		if (check_folder(store, folder, owner, top.owner, err) < 0)
			return -1;
	}
	return 0;
}

char *history_store_owner(struct history_store *store, const char *path, struct err *err)
{
	struct store_access entry cleanup_access = {0};

	if (store_check_path(path, err) < 0 || store->ops->look(store, path, &entry, err) < 0)
		return NULL;
	if (!history_is_name(entry.owner)) {
		err_set(err, ERR_DENIED, "%s/%s: has no owner", store->location, path);
		return NULL;
	}
	if (fs_others_may_write(entry.permission)) {
		err_set(err, ERR_DENIED, "%s/%s: others than %s can write to it", store->location,
			path, entry.owner);
		return NULL;
	}
	if (check_folders(store, path, entry.owner, err) < 0)
		return NULL;
	return mem_steal(&entry.owner);
}

/* ---- whose the job is --------------------------------------------------------------------- */

/* -1: `err`. */
static int is_believed(struct history_store *store, const char *owner, struct err *err)
{
	struct store_access top cleanup_access = {0};

	if (!store->keeper) {
		if (store->ops->look(store, "", &top, err) < 0)
			return -1;
		store->keeper = mem_steal(&top.owner);
	}
	return str_equal(owner, store->keeper) || str_list_has(&store->publishers, owner);
}

char *history_store_user(struct history_store *store, const char *path, const char *owner,
			 const char *told, struct err *err)
{
	struct store_access entry cleanup_access = {0};

	if (!owner && store->ops->look(store, path, &entry, err) < 0)
		return NULL;
	if (!owner)
		owner = entry.owner;
	int believed = is_believed(store, owner, err);
	return believed < 0 ? NULL : mem_strdup(believed ? told : owner);
}
