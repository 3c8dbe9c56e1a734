/* Files that tasks have stored of TONY_OUTPUT_DIR, out of their store. While they run files come
 * and go: what is gone between the list and the reading is looked for again. */
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "job/job.h"
#include "scheduler/fetch.h"
#include "scheduler/job_stores.h"
#include "store/access.h"
#include "store/store.h"

enum { TRIES = 5 };

#define PARTS ".tony-part" /* files on their way: executor/mirror_store.h */

struct fetching {
	const struct fetch_results_watch *watch;
	const struct store *store;
	char *foreign, *whose; /* the first that is another user's */
	size_t tasks;	       /* that have a directory there */
	int64_t length;	       /* of the files that are to come */
};

/* Python unpickles what comes, and in a directory for all others can put theirs in the place of
 * results. Objects of a bucket have no owner. */
static bool is_users(struct fetching *fetching, const char *name, const struct store_item *file)
{
	bool is_own = !file->owner || !store_user(fetching->store) ||
		      str_equal(file->owner, store_user(fetching->store)) ||
		      str_equal(file->owner, fetching->watch->user);

	if (!is_own && !fetching->whose) {
		fetching->foreign = mem_strdup(name);
		fetching->whose = mem_strdup(file->owner);
	}
	return is_own;
}

static int refuse_foreign(struct fetching *fetching, struct err *err)
{
	char *foreign cleanup_free = mem_steal(&fetching->foreign);
	char *whose cleanup_free = mem_steal(&fetching->whose);

	if (!whose)
		return 0;
	return err_set(err, ERR_DENIED,
		       "%s%s%s belongs to %s, who is not the job's user: no results are read there",
		       store_location(fetching->store), *foreign ? "/" : "", foreign, whose);
}

static bool is_wanted(void *data, const char *name, const struct store_item *file)
{
	struct fetching *fetching = data;
	const struct fetch_results_watch *watch = fetching->watch;

	if (!is_users(fetching, name, file))
		return false;
	if (!strchr(name, '/')) {
		bool is_task = file->is_directory && !str_equal(name, PARTS);
		fetching->tasks += is_task;
		return is_task;
	}
	if (file->is_directory)
		return true;
	if (watch->is_there(watch->data, name, file->length, file->modified_ms))
		return false;
	fetching->length += file->length;
	return true;
}

/* All that is there was looked at before the first file comes: none does beside a foreign one. */
static bool on_progress(void *data, int64_t bytes)
{
	const struct fetching *fetching = data;
	const struct fetch_results_watch *watch = fetching->watch;

	return !fetching->whose && watch->progress(watch->data, bytes, fetching->length);
}

/* 1: there is none. Of a store in HDFS the directory that is looked at is read, whatever is
 * renamed. */
static int fetch_tasks(struct store *store, const char *target,
		       const struct fetch_results_watch *watch, struct err *err)
{
	struct fetching fetching = {.watch = watch, .store = store};
	const struct store_choice choice = {is_wanted, &fetching};
	const struct store_progress progress = {on_progress, &fetching};
	struct store_item root cleanup_store_item = {0};
	struct err missing cleanup_err = {0};
	char *held cleanup_free = NULL, *keeper cleanup_free = NULL;

	if (store_hold(store, "", &held, &keeper, &missing) < 0 ||
	    store_look(store, held, &root, &missing) < 0)
		return missing.kind == ERR_NOT_FOUND ? 1 : err_copy(err, &missing);
	if (!is_users(&fetching, "", &root))
		return refuse_foreign(&fetching, err);
	struct err why cleanup_err = {0};
	int result = store_fetch(store, held, target, &choice, &progress, &why);
	if (refuse_foreign(&fetching, err) < 0)
		return -1;
	if (result < 0)
		return err_copy(err, &why);
	return fetching.tasks == 0;
}

static int fetch_patiently(struct store *store, const char *target,
			   const struct fetch_results_watch *watch, struct err *err)
{
	struct err failure cleanup_err = {0};
	int result = fetch_tasks(store, target, watch, &failure);

	for (int i = 1; i < TRIES && result < 0 && failure.kind == ERR_NOT_FOUND; i++) {
		err_finish(&failure);
		fs_remove_tree(target, NULL);
		result = fetch_tasks(store, target, watch, &failure);
	}
	return result < 0 ? err_copy(err, &failure) : result;
}

/* A job that only its history knows of is without keys: those of who asks are taken. */
static struct store *open_results(const struct job *job, struct store_access *access,
				  struct err *err)
{
	if (!store_access_reaches(job->stores, job->output_dir))
		return job_stores_open_place(job, job->output_dir, err);
	return store_access_from_json(job->stores, access, err) == 0
		       ? store_open(job->output_dir, access, 0, NULL, err)
		       : NULL;
}

int fetch_results(const struct job *job, const char *target,
		  const struct fetch_results_watch *watch, struct err *err)
{
	struct store_access access cleanup_store_access = {0};
	struct store *store = open_results(job, &access, err);
	int result = store ? fetch_patiently(store, target, watch, err) : -1;
	store_close(store);
	return result;
}
