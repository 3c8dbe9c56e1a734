/* Whose an entry of a store is. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/user.h"
#include "history/store_internal.h"
#include "store/location.h"

static char *name_folder(const struct history_store *store, const char *path)
{
	const char *location = store_location(store->files);

	return *path ? fs_join(location, path) : mem_strdup(location);
}

/* Can nobody but the owners of the entry and of the location replace what is in this directory?
 * Where the sticky bit is set, its owner can, and those of what is in it. Others can in each of
 * `open`. */
static int check_folder(struct history_store *store, const char *path, const char *owner,
			const char *keeper, struct str_list *open, struct err *err)
{
	struct store_item item cleanup_store_item = {0};

	if (store_look(store->files, path, &item, err) < 0)
		return -1;
	char *shown cleanup_free = name_folder(store, path);
	/* On a machine every user trusts root. */
	bool is_roots = store_traits(store->files)->is_at_once && str_equal(item.owner, "root");
	if (str_equal(item.owner, STORE_NOBODY) ||
	    (!is_roots && !str_equal(item.owner, owner) && !str_equal(item.owner, keeper)))
		return err_set(err, ERR_DENIED,
			       "%s: is %s's, who can replace what %s has put there", shown,
			       item.owner, owner);
	if (item.others_may_replace)
		str_list_take(open, mem_steal(&shown));
	return 0;
}

/* "chmod +t A A/B": how others may go on to publish there. */
static char *word_chmod(const struct history_store *store, const char *mode,
			const struct str_list *paths)
{
	bool is_here = store_traits(store->files)->is_at_once;
	char *command = mem_printf("%schmod %s", is_here ? "" : "hdfs dfs -", mode);

	for (size_t i = 0; i < paths->count; i++) {
		char *quoted cleanup_free = str_shell_quote(paths->items[i]);
		mem_replace(&command, mem_printf("%s %s", command, quoted));
	}
	return command;
}

/* All folders from the location to the one that holds the entry. */
static int check_folders(struct history_store *store, const char *path, const char *owner,
			 struct err *err)
{
	struct store_item top cleanup_store_item = {0};
	struct str_list open cleanup_str_list = {0};

	if (store_look(store->files, "", &top, err) < 0 ||
	    check_folder(store, "", owner, top.owner, &open, err) < 0)
		return -1;
	for (const char *end = strchr(path, '/'); end; end = strchr(end + 1, '/')) {
		char *folder cleanup_free = mem_strndup(path, (size_t)(end - path));
		if (check_folder(store, folder, owner, top.owner, &open, err) < 0)
			return -1;
	}
	if (open.count == 0)
		return 0;
	char *chmod cleanup_free = word_chmod(store, "+t", &open);
	return err_set(err, ERR_DENIED, "%s: others than %s can replace what is there; type \"%s\"",
		       open.items[0], owner, chmod);
}

static int refuse_written(const struct history_store *store, const char *path, const char *owner,
			  struct err *err)
{
	struct str_list paths cleanup_str_list = {0};

	str_list_take(&paths, name_folder(store, path));
	char *chmod cleanup_free = word_chmod(store, "go-w", &paths);
	return err_set(err, ERR_DENIED, "%s: others than %s can write to it; type \"%s\"",
		       paths.items[0], owner, chmod);
}

char *history_store_owner(struct history_store *store, const char *path, struct err *err)
{
	struct store_item entry cleanup_store_item = {0};

	if (store_check_path(path, err) < 0 || store_look(store->files, path, &entry, err) < 0)
		return NULL;
	if (!history_store_has_owners(store)) {
		err_set(err, ERR_DENIED, "%s/%s: objects have no owner",
			store_location(store->files), path);
		return NULL;
	}
	if (!history_is_name(entry.owner)) {
		err_set(err, ERR_DENIED, "%s/%s: has no owner", store_location(store->files), path);
		return NULL;
	}
	if (entry.others_may_write) {
		refuse_written(store, path, entry.owner, err);
		return NULL;
	}
	return check_folders(store, path, entry.owner, err) == 0 ? mem_steal(&entry.owner) : NULL;
}

int history_store_vouch(struct history_store *store, const struct history_record *record,
			struct err *err)
{
	char *owner cleanup_free = history_store_owner(store, record->path, err);

	return owner ? store_check_owner(store, record, owner, err) : -1;
}

char *history_find_foreign_day(const char *location, int64_t time_ms)
{
	char *day cleanup_free = history_day(time_ms);
	struct store_location place cleanup_store_location = {0};
	struct str_list parts cleanup_str_list = {0};
	struct stat top, status;

	if (store_location_parse(location, &place, NULL) < 0 || store_location_is_remote(&place) ||
	    stat(place.path, &top) < 0 || !fs_others_may_write(top.st_mode))
		return NULL;
	char *path cleanup_free = mem_strdup(place.path);
	str_split(&parts, day, '/');
	for (size_t i = 0; i < parts.count; i++) {
		mem_replace(&path, fs_join(path, parts.items[i]));
		if (lstat(path, &status) < 0)
			return NULL;
		if (status.st_uid == top.st_uid || status.st_uid == 0)
			continue;
		char *owner cleanup_free = user_name_of(status.st_uid);
		return mem_printf("%s is %s's, who can hide, and so in effect remove, what others "
				  "publish there; have the "
				  "owner of %s make the days ahead (docs/history.md)",
				  path, owner, place.path);
	}
	return NULL;
}

/* ---- whose the job is --------------------------------------------------------------------- */

const char *store_keeper(struct history_store *store, struct err *err)
{
	struct store_item top cleanup_store_item = {0};

	if (!store->keeper && store_look(store->files, "", &top, err) == 0)
		store->keeper = mem_steal(&top.owner);
	return store->keeper;
}

int store_is_believed(struct history_store *store, const char *owner, struct err *err)
{
	if (!history_store_has_owners(store))
		return 1;
	const char *keeper = store_keeper(store, err);
	if (!keeper)
		return -1;
	return !str_equal(owner, STORE_NOBODY) &&
	       (str_equal(owner, keeper) || str_list_has(&store->publishers, owner));
}

void history_record_finish(struct history_record *record)
{
	free(record->path);
	free(record->owner);
	free(record->user);
	*record = (struct history_record){0};
}

void history_record_copy(const struct history_record *from, struct history_record *to)
{
	*to = (struct history_record){mem_strdup(from->path), mem_strdup(from->owner),
				      mem_strdup(from->user), from->is_pinned};
}

static int refuse_other(const struct history_store *store, const char *path, const char *owner,
			const char *meant, struct err *err)
{
	return err_set(err, ERR_DENIED, "%s/%s: an entry of %s's has taken the place of %s's",
		       store_location(store->files), path, owner, meant);
}

/* The user that the summary in this owner's directory names; NULL: `err`. */
static char *read_told(struct history_store *store, const char *path, const char *owner,
		       struct err *err)
{
	struct history_summary summary cleanup_history_summary = {0};
	char *keeper cleanup_free = NULL;

	if (store_summary(store, path, &summary, &keeper, err) < 0)
		return NULL;
	if (!keeper || str_equal(keeper, owner))
		return mem_steal(&summary.user);
	refuse_other(store, path, keeper, owner, err);
	return NULL;
}

/* Of an entry whose owner is believed, or that has none. Without a summary it is its owner's. */
static char *believe(struct history_store *store, const char *path, const char *owner,
		     const char *told, struct err *err)
{
	struct err why cleanup_err = {0};
	char *user = told ? mem_strdup(told) : read_told(store, path, owner, &why);

	if (!user && owner && (why.kind == ERR_NOT_FOUND || why.kind == ERR_INPUT))
		user = mem_strdup(owner);
	if (!user)
		err_copy(err, &why);
	return user;
}

int store_record(struct history_store *store, const char *path, const char *owner, const char *told,
		 struct history_record *record, struct err *err)
{
	struct store_item entry cleanup_store_item = {0};
	bool has_owners = history_store_has_owners(store);

	if (has_owners && !owner && store_look(store->files, path, &entry, err) < 0)
		return -1;
	owner = owner ? owner : entry.owner;
	int believed = has_owners ? store_is_believed(store, owner, err) : true;
	char *user = believed < 0 ? NULL
		     : believed	  ? believe(store, path, owner, told, err)
				  : mem_strdup(owner);
	if (!user)
		return -1;
	*record = (struct history_record){mem_strdup(path), mem_strdup(owner), user,
					  store_traits(store->files)->is_at_once};
	return 0;
}

int history_store_record(struct history_store *store, const char *path, const char *told,
			 struct history_record *record, struct err *err)
{
	return store_check_path(path, err) < 0 ? -1
					       : store_record(store, path, NULL, told, record, err);
}

int store_check_owner(struct history_store *store, const struct history_record *record,
		      const char *keeper, struct err *err)
{
	struct store_item entry cleanup_store_item = {0};

	if (!keeper && record->owner && store_look(store->files, record->path, &entry, err) < 0)
		return -1;
	const char *owner = keeper ? keeper : entry.owner;
	if (!record->owner || str_equal(owner, record->owner))
		return 0;
	return refuse_other(store, record->path, owner, record->owner, err);
}
