#include "history/retain.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/user.h"
#include "history/store_internal.h"
#include "job/job.h"

/* A job that is not too old. */
struct candidate {
	char *path, *user;
	char *owner; /* of its directory; NULL in a bucket */
	int64_t time_ms, bytes;
	bool is_read; /* its summary, which is that of its name */
};

struct retaining {
	struct history_store *store;
	const struct history_retention *retention;
	int64_t now_ms;
	int64_t oldest_ms; /* what was before is too old */
	struct candidate *candidates;
	size_t count;
	struct history_retained *retained;
};

static int64_t add_bytes(int64_t sum, int64_t more)
{
	return __builtin_add_overflow(sum, more, &sum) ? INT64_MAX : sum;
}

/* ---- one job ------------------------------------------------------------------------------ */

static void finish_candidate(struct candidate *candidate)
{
	free(candidate->path);
	free(candidate->user);
	free(candidate->owner);
}

/* A tree too deep to be measured is larger than any other: nobody but its owner loses by that. */
static int measure_job(const struct retaining *retaining, struct candidate *candidate,
		       struct err *err)
{
	struct err why cleanup_err = {0};
	struct store_measure measure;

	if (store_measure(retaining->store->files, candidate->path, &measure, &why) == 0) {
		candidate->bytes = measure.bytes;
		return 0;
	}
	candidate->bytes = INT64_MAX;
	return why.kind == ERR_INPUT ? 0 : err_copy(err, &why);
}

/* A job counts for the owner of its directory. The location's owner and publishers may name another
 * user. A size is taken from the summary of an owner who is believed, or who is this process's
 * user. */
static int weigh_job(const struct retaining *retaining, struct candidate *candidate,
		     struct err *err)
{
	struct history_store *store = retaining->store;
	struct history_summary summary cleanup_history_summary = {0};
	struct store_item item cleanup_store_item = {0};

	if (history_store_has_owners(store) &&
	    store_look(store->files, candidate->path, &item, err) < 0)
		return -1;
	int believed = store_is_believed(store, item.owner, err);
	if (believed < 0)
		return -1;
	bool is_read = candidate->is_read =
		history_store_summary(store, candidate->path, &summary, NULL) == 0;
	candidate->user = mem_strdup(is_read ? summary.user : item.owner ? item.owner : "");
	candidate->owner = mem_steal(&item.owner);
	if (retaining->retention->bytes == 0)
		return 0;
	if (is_read && summary.bytes > 0 &&
	    (believed || str_equal(candidate->owner, retaining->store->me))) {
		candidate->bytes = summary.bytes;
		return 0;
	}
	return measure_job(retaining, candidate, err);
}

static int keep_shared(const struct retaining *retaining, const struct candidate *candidate,
		       struct err *why)
{
	const struct history_retention *retention = retaining->retention;

	retaining->retained->kept++;
	if (retention->on_stays)
		retention->on_stays(retention->data, candidate->path, err_message(why));
	err_finish(why);
	return 0;
}

static int remove_job(const struct retaining *retaining, const struct candidate *candidate,
		      const char *why, struct err *err)
{
	const struct history_retention *retention = retaining->retention;
	struct history_retained *retained = retaining->retained;
	const char *location = history_store_location(retaining->store);
	char *bytes cleanup_free = str_format_bytes(candidate->bytes);

	int stays = history_store_remove(retaining->store, candidate->path, candidate->owner, err);
	if (stays != 0) {
		retained->bytes_kept = add_bytes(retained->bytes_kept, candidate->bytes);
		return stays < 0 ? -1 : keep_shared(retaining, candidate, err);
	}
	char *text cleanup_free = retention->bytes > 0
					  ? mem_printf("%s/%s of %s, %s: removed, %s", location,
						       candidate->path, candidate->user, bytes, why)
					  : mem_printf("%s/%s of %s: removed, %s", location,
						       candidate->path, candidate->user, why);
	if (retention->on_removed)
		retention->on_removed(retention->data, text);
	retained->removed++;
	retained->bytes_removed = add_bytes(retained->bytes_removed, candidate->bytes);
	return 0;
}

/* In a bucket. */
static int clear_part(const struct retaining *retaining, const char *path, struct err *err)
{
	int is_left = history_store_is_left(retaining->store, path, retaining->now_ms, err);

	return is_left > 0 ? history_store_remove(retaining->store, path, NULL, err) : is_left;
}

static void add_candidate(struct retaining *retaining, struct candidate *candidate)
{
	retaining->candidates = mem_realloc_array(retaining->candidates, retaining->count + 1,
						  sizeof(*retaining->candidates));
	retaining->candidates[retaining->count++] = *candidate;
	*candidate = (struct candidate){0};
}

/* On a machine a user removes his own entries: all others are root's and the location's owner's to
 * remove. */
static bool may_remove(struct history_store *store, const struct candidate *candidate)
{
	return !store_traits(store->files)->is_at_once || geteuid() == 0 ||
	       str_equal(candidate->owner, store->me) ||
	       str_equal(store->me, store_keeper(store, NULL));
}

/* The owner of a month can give any directory the name of a day, and what is in it may be an
 * experiment of another user's. */
static bool is_jobs(const struct retaining *retaining, const struct candidate *candidate)
{
	struct history_store *store = retaining->store;

	if (candidate->is_read || !history_store_has_owners(store))
		return true;
	char *owner cleanup_free = history_store_owner(store, candidate->path, NULL);
	return owner && store_entry_is_proven(store, candidate->path);
}

static int retain_job(struct retaining *retaining, const struct history_job *job, int64_t time_ms,
		      bool is_too_old, struct err *err)
{
	struct candidate candidate = {.path = mem_strdup(job->path), .time_ms = time_ms};
	enum store_entry entry;
	int result = store_entry_look(retaining->store, job->path, &entry, err);

	if (result == 0 && entry == STORE_ENTRY_PART && is_too_old &&
	    !history_store_has_owners(retaining->store))
		result = clear_part(retaining, job->path, err);
	else if (result == 0 && entry == STORE_ENTRY_JOB)
		result = weigh_job(retaining, &candidate, err);
	if (result == 0 && entry == STORE_ENTRY_JOB) {
		bool is_spared = !may_remove(retaining->store, &candidate);
		bool is_damaged = !is_spared && !is_jobs(retaining, &candidate);
		retaining->retained->damaged += is_damaged;
		if (is_spared || is_damaged)
			retaining->retained->kept++;
		else if (is_too_old)
			result = remove_job(retaining, &candidate, "too old", err);
		else
			add_candidate(retaining, &candidate);
	}
	finish_candidate(&candidate);
	return result;
}

/* ---- age ---------------------------------------------------------------------------------- */

/* In a bucket a directory has no time. -1: `err`. */
static int is_older(const struct retaining *retaining, const struct history_job *job,
		    struct err *err)
{
	struct store_measure measure = {.newest_ms = job->modified_ms};

	if (!job->modified_ms &&
	    store_measure(retaining->store->files, job->path, &measure, err) < 0)
		return -1;
	return measure.newest_ms <= retaining->oldest_ms;
}

/* The owner of a month can give one of its days the name of an older one: the time of an entry,
 * which nobody sets but its own owner, has to be as old, then. -1: `err`. */
static int is_too_old(const struct retaining *retaining, const struct history_job *job, bool is_day,
		      bool is_old_day, struct err *err)
{
	if (!is_day)
		return is_older(retaining, job, err);
	if (!is_old_day || !history_store_has_owners(retaining->store))
		return is_old_day;
	char *owner cleanup_free = history_store_owner(retaining->store, job->path, NULL);
	return owner ? 1 : is_older(retaining, job, err);
}

/* ---- a day -------------------------------------------------------------------------------- */

struct rests {
	const struct retaining *retaining;
	const char *folder;
	struct str_list paths, owners;
	size_t left; /* of any kind */
};

/* The name is perhaps the choice of the day's owner, who can move here what is another user's; the
 * time, and who may write to it, are its own owner's. Root, too, leaves to others what is theirs.
 */
static void on_entry(void *data, const struct store_item *item)
{
	struct rests *rests = data;
	const struct retaining *retaining = rests->retaining;
	int64_t day_ago = retaining->now_ms - HISTORY_DAY_MS;
	int64_t oldest = retaining->oldest_ms < day_ago ? retaining->oldest_ms : day_ago;

	if (!item->is_directory || *item->name != '.' || item->modified_ms > oldest ||
	    item->others_may_write ||
	    (item->owner && !str_equal(item->owner, retaining->store->me))) {
		rests->left++;
		retaining->retained->strays += *item->name == '.';
		return;
	}
	str_list_take(&rests->paths, mem_printf("%s/%s", rests->folder, item->name));
	str_list_add(&rests->owners, item->owner ? item->owner : "");
}

/* Has a killed process left it? It is empty, or has the files of a history and no others; where one
 * of them says how the job ended, its name is that job's. The store removes it only with the
 * job.json that was read. 0: it stays; -1: `err`. */
static int remove_rest(struct history_store *store, const char *path, const char *owner,
		       struct err *err)
{
	struct history_summary summary cleanup_history_summary = {0};
	enum store_entry entry;
	size_t length;
	char *job cleanup_free =
		store_read_file(store, path, HISTORY_JOB, JOB_JSON_CAP, &length, NULL, NULL);
	char *ended cleanup_free = NULL;

	if (store_traits(store->files)->is_at_once &&
	    store_run(store->files, store_remove_empty(path), NULL) == 0)
		return 1;
	if (store_entry_look(store, path, &entry, err) < 0)
		return -1;
	if (!job || entry == STORE_ENTRY_NONE)
		return 0;
	if (entry == STORE_ENTRY_JOB) {
		size_t size;
		ended = store_read_file(store, path, HISTORY_SUMMARY, HISTORY_SUMMARY_CAP, &size,
					NULL, NULL);
		if (!ended || history_summary_from_text(ended, size, &summary, NULL) < 0 ||
		    !str_starts_with(fs_basename(path) + 1, summary.id))
			return 0;
	}
	return store_run(store->files, store_remove_owned(path, owner, HISTORY_JOB, job, length),
			 err) < 0
		       ? -1
		       : 1;
}

static void clear_day(const struct retaining *retaining, const char *folder)
{
	struct history_store *store = retaining->store;
	struct rests rests = {.retaining = retaining, .folder = folder};
	struct err err cleanup_err = {0};

	/* This also finishes removals that were killed. */
	if (store_traits(store->files)->is_at_once)
		store_run(store->files, store_remove_empty(folder), NULL);
	bool is_listed =
		store_run(store->files, store_list(folder, NULL, on_entry, &rests), NULL) == 0;
	for (size_t i = 0; i < rests.paths.count; i++) {
		const char *owner = *rests.owners.items[i] ? rests.owners.items[i] : NULL;
		err_finish(&err);
		int removed = remove_rest(store, rests.paths.items[i], owner, &err);
		if (removed < 0)
			log_warning("%s", err_message(&err));
		rests.left += removed <= 0;
		retaining->retained->strays += removed == 0;
	}
	if (is_listed && rests.left == 0 && history_store_has_owners(store))
		store_run(store->files, store_remove_empty(folder), NULL);
	str_list_finish(&rests.paths);
	str_list_finish(&rests.owners);
}

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int retain_folder(struct retaining *retaining, const struct history_folder *folder,
			 struct err *err)
{
	struct history_jobs jobs cleanup_history_jobs = {0};
	/* A day to come tells nothing. */
	bool is_day = folder->day_ms > 0 && folder->day_ms <= retaining->now_ms;
	bool is_old_day = is_day && folder->end_ms <= retaining->oldest_ms;

	if (history_store_jobs(retaining->store, folder->path, &jobs, err) < 0)
		return -1;
	if (is_day && !is_old_day && retaining->retention->bytes == 0) {
		retaining->retained->kept += jobs.count;
		return 0;
	}
	for (size_t i = 0; i < jobs.count; i++) {
		const struct history_job *job = &jobs.items[i];
		struct err why cleanup_err = {0};
		int64_t time_ms = is_day ? folder->day_ms : job->modified_ms;
		int too_old = is_too_old(retaining, job, is_day, is_old_day, &why);
		/* Retention keeps an entry that it cannot look at. */
		if (too_old >= 0 && retain_job(retaining, job, earlier(time_ms, retaining->now_ms),
					       too_old, &why) == 0)
			continue;
		log_warning("%s", err_message(&why));
		retaining->retained->failed++;
	}
	if (is_old_day && !jobs.is_closed)
		clear_day(retaining, folder->path);
	return 0;
}

/* ---- size --------------------------------------------------------------------------------- */

static void keep_or_remove(struct retaining *retaining, const struct candidate *candidate,
			   bool goes)
{
	struct history_retained *retained = retaining->retained;
	struct err err cleanup_err = {0};

	if (!goes) {
		retained->kept++;
		retained->bytes_kept = add_bytes(retained->bytes_kept, candidate->bytes);
	} else if (remove_job(retaining, candidate,
			      "the oldest of the user whose histories take most", &err) < 0) {
		log_warning("%s", err_message(&err));
		retained->failed++;
	}
}

static void cut_to_size(struct retaining *retaining)
{
	struct history_weight *weights = mem_alloc_array(retaining->count + 1, sizeof(*weights));

	for (size_t i = 0; i < retaining->count; i++) {
		const struct candidate *candidate = &retaining->candidates[i];
		weights[i] = (struct history_weight){candidate->user, candidate->time_ms,
						     candidate->bytes, false};
	}
	if (retaining->retention->bytes > 0)
		history_retain_choose(weights, retaining->count, retaining->retention->bytes);
	for (size_t i = 0; i < retaining->count; i++) {
		keep_or_remove(retaining, &retaining->candidates[i], weights[i].goes);
		finish_candidate(&retaining->candidates[i]);
	}
	free(weights);
	free(retaining->candidates);
}

int history_retain(struct history_store *store, const struct history_retention *retention,
		   int64_t now_ms, struct history_retained *retained, struct err *err)
{
	struct history_folders folders cleanup_history_folders = {0};
	struct retaining retaining = {
		.store = store,
		.retention = retention,
		.now_ms = now_ms,
		.oldest_ms = retention->age_ms > 0 ? now_ms - retention->age_ms : INT64_MIN,
		.retained = retained,
	};
	int result = 0;

	*retained = (struct history_retained){0};
	if (history_store_folders(store, &folders, err) < 0)
		return -1;
	for (size_t i = 0; result == 0 && i < folders.count; i++)
		result = retain_folder(&retaining, &folders.items[i], err);
	cut_to_size(&retaining);
	return result;
}
