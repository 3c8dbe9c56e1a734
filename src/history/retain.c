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
	return store_measure(store, path).bytes;
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
static void clear_part(const struct retaining *retaining, const char *path)
{
	if (history_store_is_part(retaining->store, path) &&
	    history_store_is_left(retaining->store, path, retaining->now_ms))
		history_store_remove(retaining->store, path, NULL);
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

static void remove_job(struct retaining *retaining, const char *path, int64_t bytes)
{
	struct err err cleanup_err = {0};

	if (history_store_remove(retaining->store, path, &err) == 0) {
		retaining->retained->removed++;
		retaining->retained->bytes_removed += bytes;
		return;
	}
	log_warning("%s", err_message(&err));
	retaining->retained->failed++;
	retaining->retained->bytes_kept += bytes;
}

static void retain_job(struct retaining *retaining, const struct history_job *job, bool is_too_old)
{
	const struct history_retention *retention = retaining->retention;
	struct history_retained *retained = retaining->retained;

	if (!store_is_job(retaining->store, job->path)) {
		if (is_too_old)
			clear_part(retaining, job->path);
		return;
	}
	int64_t bytes = retention->bytes > 0 ? measure_job(retaining->store, job->path) : 0;
	retaining->bytes += bytes;
	if (is_too_old || (retention->bytes > 0 && retaining->bytes > retention->bytes)) {
		remove_job(retaining, job->path, bytes);
		return;
	}
	retained->kept++;
	retained->bytes_kept += bytes;
}

/* In a bucket a directory has no time. */
static bool is_older(const struct retaining *retaining, const struct history_job *job)
{
	int64_t modified_ms = job->modified_ms
				      ? job->modified_ms
				      : store_measure(retaining->store, job->path).newest_ms;

	return modified_ms <= retaining->oldest_ms;
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
		retain_job(retaining, &jobs.items[i],
			   is_day ? is_old_day : is_older(retaining, &jobs.items[i]));
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
