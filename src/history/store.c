#include "history/store.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/user.h"
#include "history/store_internal.h"
#include "store/access.h"

/* ---- opening ------------------------------------------------------------------------------ */

/* It is one of several places at which somebody looks who waits; how long a cluster is waited for
 * its files say. */
#define BUCKET_WAIT_MS 3000

struct history_store *history_store_open(const char *location, const struct store_access *access,
					 struct err *err)
{
	int64_t wait_ms = str_starts_with(location, "s3:") ? BUCKET_WAIT_MS : 0;
	struct store *files = store_open(location, access, wait_ms, NULL, err);

	if (!files)
		return NULL;
	struct history_store *store = mem_alloc(sizeof(*store));
	store->files = files;
	store->me = str_starts_with(location, "hdfs:") || str_starts_with(location, "viewfs:")
			    ? mem_strdup(access->hdfs.user)
			    : user_name_of(geteuid());
	store_open_trees(store);
	return store;
}

void history_store_close(struct history_store *store)
{
	if (!store)
		return;
	store_foreign_destroy(store->foreign);
	store_close(store->files);
	str_list_finish(&store->publishers);
	history_store_clear_trees(store);
	free(store->me);
	free(store->keeper);
	free(store);
}

void history_store_trust(struct history_store *store, const struct str_list *publishers)
{
	str_list_copy(&store->publishers, publishers);
}

const char *history_store_me(const struct history_store *store)
{
	return store->me;
}

const char *history_store_location(const struct history_store *store)
{
	return store_location(store->files);
}

int history_store_ask(struct history_store *store, struct err *err)
{
	struct store_item top cleanup_store_item = {0};

	return store_look(store->files, "", &top, err);
}

/* ---- paths -------------------------------------------------------------------------------- */

static char *join(const char *path, const char *name, struct err *err)
{
	char *joined = mem_printf("%s/%s", path, name);

	if (store_check_path(joined, err) == 0)
		return joined;
	free(joined);
	return NULL;
}

/* ---- jobs --------------------------------------------------------------------------------- */

void history_jobs_finish(struct history_jobs *jobs)
{
	for (size_t i = 0; i < jobs->count; i++) {
		free(jobs->items[i].id);
		free(jobs->items[i].path);
	}
	free(jobs->items);
	str_list_finish(&jobs->strays);
	*jobs = (struct history_jobs){0};
}

struct job_listing {
	struct history_jobs *jobs;
	const char *folder;
};

static void on_job(void *data, const struct store_item *item)
{
	struct job_listing *listing = data;
	struct history_jobs *jobs = listing->jobs;

	if (!history_is_id(item->name))
		return;
	if (!item->is_directory) {
		str_list_add(&jobs->strays, item->name);
		return;
	}
	jobs->items = mem_realloc_array(jobs->items, jobs->count + 1, sizeof(*jobs->items));
	jobs->items[jobs->count++] =
		(struct history_job){.id = mem_strdup(item->name),
				     .path = mem_printf("%s/%s", listing->folder, item->name),
				     .modified_ms = item->modified_ms};
}

static int newest_first(const void *left, const void *right)
{
	const struct history_job *a = left, *b = right;

	if (a->modified_ms != b->modified_ms)
		return a->modified_ms < b->modified_ms ? 1 : -1;
	return strcmp(b->id, a->id);
}

int history_store_jobs(struct history_store *store, const char *folder, struct history_jobs *jobs,
		       struct err *err)
{
	struct job_listing listing = {.jobs = jobs, .folder = folder};
	struct err why cleanup_err = {0};

	*jobs = (struct history_jobs){0};
	if (store_check_path(folder, err) < 0)
		return -1;
	if (store_entries(store, folder, on_job, &listing, &why) < 0) {
		history_jobs_finish(jobs);
		jobs->is_closed = store_pass_over(store, &why);
		return jobs->is_closed ? 0 : err_copy(err, &why);
	}
	if (jobs->count > 1)
		qsort(jobs->items, jobs->count, sizeof(*jobs->items), newest_first);
	return 0;
}

/* Is there one of those that are looked for? -1: `err`. */
typedef int entry_test(struct history_store *store, const char *path, struct err *err);

static int has_kind(struct history_store *store, const char *path, enum store_entry kind,
		    struct err *err)
{
	enum store_entry entry;

	return store_entry_look(store, path, &entry, err) < 0 ? -1 : entry == kind;
}

static int is_part(struct history_store *store, const char *path, struct err *err)
{
	return has_kind(store, path, STORE_ENTRY_PART, err);
}

static int is_job(struct history_store *store, const char *path, struct err *err)
{
	struct store_item item cleanup_store_item = {0};
	struct err why cleanup_err = {0};

	if (!history_store_has_owners(store))
		return has_kind(store, path, STORE_ENTRY_JOB, err);
	if (store_look(store->files, path, &item, &why) == 0)
		return item.is_directory;
	/* Of a directory that this user may not enter. */
	return why.kind == ERR_NOT_FOUND || store_is_closed(store, &why) ? 0 : err_copy(err, &why);
}

static bool may_be_in(const struct history_folder *folder, const struct history_days *days)
{
	return !days || folder->day_ms == 0 ||
	       (folder->end_ms > days->first_ms && folder->day_ms <= days->last_ms);
}

/* Tells of each entry of this id; false: no further one is looked for. */
typedef bool entry_visit(void *data, const char *path);

static int visit_entries(struct history_store *store, const char *id,
			 const struct history_days *days, entry_test *is_meant, entry_visit *visit,
			 void *data, struct err *err)
{
	struct history_folders folders cleanup_history_folders = {0};

	if (!history_is_id(id))
		return err_set(err, ERR_NOT_FOUND, "\"%.256s\" cannot be a job's id", id);
	if (history_store_folders(store, &folders, err) < 0)
		return -1;
	for (size_t i = 0; i < folders.count; i++) {
		const struct history_folder *folder = &folders.items[i];
		char *path cleanup_free = mem_printf("%s/%s", folder->path, id);
		int found = may_be_in(folder, days) ? is_meant(store, path, err) : 0;
		if (found < 0)
			return -1;
		if (found && !visit(data, path))
			break;
	}
	return 0;
}

static int tell_missing(const struct history_store *store, const char *id, struct err *err)
{
	return err_set(err, ERR_NOT_FOUND, "no job \"%s\" in %s", id,
		       history_store_location(store));
}

/* Any user may have put an entry with this id there. */
struct search {
	struct history_store *store;
	const char *user;
	struct history_record *record; /* the best one so far; without a path: none */
	struct err flaw;	       /* of the first whose owner is not known */
};

static bool take_better(void *data, const char *path)
{
	struct search *search = data;
	struct history_record one = {0};
	struct err *flaw = search->flaw.kind == ERR_NONE ? &search->flaw : NULL;

	if (history_store_record(search->store, path, NULL, &one, flaw) < 0)
		return true;
	bool is_wanted = str_equal(one.user, search->user) || str_equal(one.owner, search->user);
	if (is_wanted || !search->record->path) {
		history_record_finish(search->record);
		*search->record = one;
	} else {
		history_record_finish(&one);
	}
	return !is_wanted;
}

int history_store_find(struct history_store *store, const char *id, const struct history_days *days,
		       const char *user, struct history_record *record, struct err *err)
{
	struct search search = {.store = store, .user = user ? user : store->me, .record = record};

	*record = (struct history_record){0};
	int result = visit_entries(store, id, days, is_job, take_better, &search, err);
	if (result == 0 && !record->path)
		result = search.flaw.kind ? err_copy(err, &search.flaw)
					  : tell_missing(store, id, err);
	if (result < 0)
		history_record_finish(record);
	err_finish(&search.flaw);
	return result;
}

static bool take_first(void *data, const char *path)
{
	*(char **)data = mem_strdup(path);
	return false;
}

char *history_store_find_part(struct history_store *store, const char *id,
			      const struct history_days *days, struct err *err)
{
	char *found = NULL;

	if (history_store_has_owners(store))
		err_set(err, ERR_NOT_FOUND, "no part of a history is in %s",
			history_store_location(store));
	else if (visit_entries(store, id, days, is_part, take_first, &found, err) == 0 && !found)
		tell_missing(store, id, err);
	return found;
}

static bool is_owners(struct history_store *store, const char *path, const char *owner)
{
	char *proven cleanup_free = owner ? history_store_owner(store, path, NULL) : NULL;

	return proven && str_equal(proven, owner);
}

/* Half of an entry would be of no use. `at`: where it is found. 1: it stays, as `err` says. */
static int check_shared(struct history_store *store, const char *path, const char *at,
			const char *owner, struct err *err)
{
	char *name cleanup_free = NULL, *whose cleanup_free = NULL;

	if (!owner)
		return 0;
	if (store_find_foreign(store->files, at, owner, &name, &whose, err) < 0)
		return err_rename(err, at, path);
	if (!name)
		return 0;
	char *full cleanup_free = fs_join(store_location(store->files), path);
	char *quoted cleanup_free = str_shell_quote(full);
	err_set(err, ERR_DENIED,
		"%s: %s in it is %s's, so all of it stays; have %s take that away, or an "
		"administrator type: %s %s",
		full, name, whose, whose,
		store_traits(store->files)->is_at_once ? "rm -rf --one-file-system"
						       : "hdfs dfs -rm -r",
		quoted);
	return 1;
}

/* An owner who is not trusted may exchange two entries of one user. The summary that is read here
 * is the job's that is meant, and the directory that is removed has to have the same. Where the
 * day's owner is trusted, a summary of another job is the entry's own: a copy of one. */
static int remove_meant(struct history_store *store, const char *path, const char *owner,
			struct err *err)
{
	struct history_summary summary cleanup_history_summary = {0};
	struct err missing cleanup_err = {0};
	size_t length = 0;
	char *text cleanup_free = store_read_file(store, path, HISTORY_SUMMARY, HISTORY_SUMMARY_CAP,
						  &length, NULL, &missing);

	if (!text && missing.kind != ERR_NOT_FOUND && missing.kind != ERR_INPUT)
		return err_copy(err, &missing);
	if (text && history_summary_from_text(text, length, &summary, NULL) == 0 &&
	    !str_equal(summary.id, fs_basename(path)) && !is_owners(store, path, owner))
		return err_set(err, ERR_DENIED, "%s/%s: another one, %s, has taken its place",
			       store_location(store->files), path, summary.id);
	int shared = check_shared(store, path, path, owner, err);
	if (shared != 0)
		return shared;
	return store_run(store->files,
			 store_remove_owned(path, owner, HISTORY_SUMMARY, text,
					    text ? length : HISTORY_SUMMARY_CAP),
			 err);
}

/* A server removes a tree whole. */
static int remove_whole(struct history_store *store, const char *path, const char *owner,
			struct err *err)
{
	const struct history_record record = {.path = (char *)path, .owner = (char *)owner};
	char *held cleanup_free = NULL, *keeper cleanup_free = NULL;
	struct err missing cleanup_err = {0};

	if (store_hold(store->files, path, &held, &keeper, &missing) < 0)
		return missing.kind == ERR_NOT_FOUND ? 0 : err_copy(err, &missing);
	if (keeper && store_check_owner(store, &record, keeper, err) < 0)
		return -1;
	int shared = check_shared(store, path, held, owner, err);
	if (shared == 0 &&
	    store_run(store->files, store_remove_owned(held, owner, NULL, NULL, 0), err) < 0)
		return err_rename(err, held, path);
	return shared;
}

int history_store_check_whole(struct history_store *store, const char *path, const char *owner,
			      struct err *err)
{
	return store_check_path(path, err) < 0 ? -1 : check_shared(store, path, path, owner, err);
}

int history_store_remove(struct history_store *store, const char *path, const char *owner,
			 struct err *err)
{
	if (store_check_path(path, err) < 0)
		return -1;
	if (store_traits(store->files)->is_at_once)
		return remove_meant(store, path, owner, err);
	return remove_whole(store, path, owner, err);
}

/* ---- one job ------------------------------------------------------------------------------ */

bool history_store_is_others(struct history_store *store, const char *path, const struct err *flaw)
{
	struct store_item item cleanup_store_item = {0};
	struct err why cleanup_err = {0};

	if ((flaw->kind != ERR_DENIED && flaw->kind != ERR_INPUT) ||
	    !history_store_has_owners(store))
		return false;
	return store_look(store->files, path, &item, &why) < 0 ? why.kind == ERR_DENIED
							       : !str_equal(item.owner, store->me);
}

/* Those that are made of what TonY has left. */
static bool is_made(const char *name)
{
	static const char *const names[] = {HISTORY_JOB, HISTORY_CONFIG, HISTORY_EVENTS,
					    HISTORY_METRICS, HISTORY_SUMMARY};

	for (size_t i = 0; i < array_length(names); i++)
		if (str_equal(names[i], name))
			return true;
	return false;
}

static bool has_summary(struct history_store *store, const char *path)
{
	char *full cleanup_free = mem_printf("%s/" HISTORY_SUMMARY, path);
	int fd cleanup_close = store_open_file(store->files, full, HISTORY_SUMMARY_CAP, NULL, NULL);

	return fd >= 0;
}

/* TonY's own tony-final.xml is not what it becomes. */
static bool may_be_made(struct history_store *store, const char *path, const char *name,
			bool is_there, const struct err *missing)
{
	return is_made(name) &&
	       (is_there ? str_equal(name, HISTORY_CONFIG) : missing->kind == ERR_NOT_FOUND) &&
	       !has_summary(store, path);
}

/* *keeper: of the directory that it was opened in; NULL: the store cannot tell both at once. */
static int open_any(struct history_store *store, const char *path, const char *name, int64_t cap,
		    char **keeper, struct err *err)
{
	char *full cleanup_free = join(path, name, err);
	struct err missing cleanup_err = {0};

	if (!full)
		return -1;
	int fd = store_open_file(store->files, full, cap, keeper, &missing);
	if (may_be_made(store, path, name, fd >= 0, &missing)) {
		char *foreign cleanup_free = NULL;
		int made = store_foreign_open(store, path, name, &foreign, fd < 0 ? err : NULL);
		if (made < 0)
			return fd;
		mem_replace(keeper, mem_steal(&foreign));
		mem_cleanup_close(&fd);
		return made;
	}
	return fd >= 0 ? fd : err_copy(err, &missing);
}

int history_store_open_file(struct history_store *store, const struct history_record *record,
			    const char *name, int64_t cap, struct err *err)
{
	char *keeper cleanup_free = NULL;
	int fd cleanup_close = open_any(store, record->path, name, cap, &keeper, err);

	if (fd < 0 || store_check_owner(store, record, keeper, err) < 0)
		return -1;
	return mem_steal_fd(&fd);
}

char *history_store_read_file(struct history_store *store, const struct history_record *record,
			      const char *name, size_t cap, size_t *length, struct err *err)
{
	int fd = history_store_open_file(store, record, name, (int64_t)cap, err);

	return store_read_opened(store, fd, record->path, name, cap, length, err);
}

int history_store_summary(struct history_store *store, const char *path,
			  struct history_summary *summary, struct err *err)
{
	char *keeper cleanup_free = NULL;
	struct history_record record cleanup_history_record = {0};

	if (store_check_path(path, err) < 0 ||
	    store_summary(store, path, summary, &keeper, err) < 0)
		return -1;
	if (store_record(store, path, keeper, summary->user, &record, err) == 0) {
		mem_replace(&summary->user, mem_steal(&record.user));
		mem_replace(&summary->owner, mem_steal(&record.owner));
		return 0;
	}
	history_summary_finish(summary);
	return -1;
}

void history_entries_finish(struct history_entries *entries)
{
	for (size_t i = 0; i < entries->count; i++)
		free(entries->items[i].name);
	free(entries->items);
	*entries = (struct history_entries){0};
}

static void on_entry(void *data, const struct store_item *item)
{
	struct history_entries *entries = data;

	if (!history_is_name(item->name))
		return;
	entries->items =
		mem_realloc_array(entries->items, entries->count + 1, sizeof(*entries->items));
	entries->items[entries->count++] =
		(struct history_entry){.name = mem_strdup(item->name),
				       .is_directory = item->is_directory,
				       .length = item->length};
}

static int by_name(const void *left, const void *right)
{
	const struct history_entry *a = left, *b = right;

	return strcmp(a->name, b->name);
}

/* Of the record's owner, whatever is renamed meanwhile; a gateway has nothing but the look behind.
 * A directory that is not there is empty. */
static int list_held(struct history_store *store, const struct history_record *record,
		     const char *path, struct history_entries *entries, struct err *err)
{
	char *held cleanup_free = NULL, *keeper cleanup_free = NULL;
	struct err missing cleanup_err = {0};

	if (store_hold(store->files, path, &held, &keeper, &missing) < 0 ||
	    store_run(store->files, store_list(held, record->owner, on_entry, entries), &missing) <
		    0)
		return missing.kind == ERR_NOT_FOUND ? 0 : err_copy(err, &missing);
	return store_check_owner(store, record, keeper, err);
}

int history_store_list(struct history_store *store, const struct history_record *record,
		       const char *name, struct history_entries *entries, struct err *err)
{
	char *full cleanup_free = join(record->path, name, err);

	*entries = (struct history_entries){0};
	if (!full || list_held(store, record, full, entries, err) < 0) {
		history_entries_finish(entries);
		return -1;
	}
	if (entries->count > 1)
		qsort(entries->items, entries->count, sizeof(*entries->items), by_name);
	return 0;
}
