#include "history/retain.h"

#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "history/store_internal.h"

struct retaining {
	struct history_store *store;
	const struct history_retention *retention;
	int64_t now_ms;
	int64_t oldest_ms; /* what was before is too old */
	int64_t bytes;	   /* of all that was met, the newest first */
	struct history_retained *retained;
};

static int64_t measure_job(struct history_store *store, const char *path)
{
	struct history_summary summary cleanup_history_summary = {0};

	if (history_store_summary(store, path, &summary, NULL) == 0 && summary.bytes > 0)
		return summary.bytes;
	struct store_measure measure;
	return store_measure(store->files, path, &measure, NULL) < 0 ? 0 : measure.bytes;
}

/* What was begun by somebody who was killed. */
static void on_rest(void *data, const struct store_item *item)
{
	struct str_list *rests = data;

	if (item->is_directory && *item->name == '.')
		str_list_add(rests, item->name);
}

static void on_any(void *data, const struct store_item *item)
{
	++*(size_t *)data;
}

/* The same in a bucket. */
static int clear_part(const struct retaining *retaining, const char *path, struct err *err)
{
	int is_left = history_store_is_left(retaining->store, path, retaining->now_ms, err);

	return is_left > 0 ? history_store_remove(retaining->store, path, err) : is_left;
}

static void clear_day(const struct retaining *retaining, const char *folder)
{
	struct history_store *store = retaining->store;
	struct str_list rests cleanup_str_list = {0};
	size_t left = 0;

	store_run(store->files, store_list(folder, NULL, on_rest, &rests), NULL);
	for (size_t i = 0; i < rests.count; i++) {
		char *path cleanup_free = mem_printf("%s/%s", folder, rests.items[i]);
		store_run(store->files, store_remove(path), NULL);
	}
	if (store_run(store->files, store_list(folder, NULL, on_any, &left), NULL) == 0 &&
	    left == 0)
		store_run(store->files, store_remove(folder), NULL);
}

/* ------------------------------------------------------------------------------------------- */

static int retain_job(struct retaining *retaining, const struct history_job *job, bool is_too_old,
		      struct err *err)
{
	const struct history_retention *retention = retaining->retention;
	struct history_retained *retained = retaining->retained;
	enum store_entry entry;

	if (store_entry_look(retaining->store, job->path, &entry, err) < 0)
		return -1;
	if (entry == STORE_ENTRY_PART && is_too_old && !history_store_has_owners(retaining->store))
		return clear_part(retaining, job->path, err);
	if (entry != STORE_ENTRY_JOB)
		return 0;
	int64_t bytes = retention->bytes > 0 ? measure_job(retaining->store, job->path) : 0;
	retaining->bytes += bytes;
	if (!is_too_old && (retention->bytes == 0 || retaining->bytes <= retention->bytes)) {
		retained->kept++;
		retained->bytes_kept += bytes;
		return 0;
	}
	if (history_store_remove(retaining->store, job->path, err) < 0) {
		retained->bytes_kept += bytes;
		return -1;
	}
	retained->removed++;
	retained->bytes_removed += bytes;
	return 0;
}

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

/* Retention keeps an entry that it cannot look at. */
static void retain(struct retaining *retaining, const struct history_job *job, bool is_day,
		   bool is_old_day)
{
	struct err err cleanup_err = {0};
	int is_too_old = is_day ? is_old_day : is_older(retaining, job, &err);

	if (is_too_old >= 0 && retain_job(retaining, job, is_too_old, &err) == 0)
		return;
	log_warning("%s", err_message(&err));
	retaining->retained->failed++;
}

static int retain_folder(struct retaining *retaining, const struct history_folder *folder,
			 struct err *err)
{
	struct history_jobs jobs cleanup_history_jobs = {0};
	bool is_day = folder->day_ms > 0;
	bool is_old_day = is_day && folder->end_ms <= retaining->oldest_ms;

	if (history_store_jobs(retaining->store, folder->path, &jobs, err) < 0)
		return -1;
	if (is_day && !is_old_day && retaining->retention->bytes == 0) {
		retaining->retained->kept += jobs.count;
		return 0;
	}
	for (size_t i = 0; i < jobs.count; i++)
		retain(retaining, &jobs.items[i], is_day, is_old_day);
	if (is_old_day)
		clear_day(retaining, folder->path);
	return 0;
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

	*retained = (struct history_retained){0};
	if (history_store_folders(store, &folders, err) < 0)
		return -1;
	for (size_t i = 0; i < folders.count; i++)
		if (retain_folder(&retaining, &folders.items[i], err) < 0)
			return -1;
	return 0;
}
