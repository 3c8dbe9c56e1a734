#include "client/clearing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/job_array.h"
#include "client/job_list.h"
#include "client/opened.h"
#include "client/report.h"
#include "client/schedulers.h"
#include "client/stage_cache.h"
#include "scheduler/state_dir.h"

int clearing_begin(struct clearing *clearing, struct err *err)
{
	clearing->removal.is_dry = clearing->is_dry;
	clearing->removal.is_whole = clearing->with_history;
	clearing->jobs = map_create(NULL);
	clearing->staying = map_create(NULL);
	clearing->told = map_create(NULL);
	clearing->rows = json_array();
	return clearing->with_history ? job_stores_open_within(NULL, SCHEDULERS_PATIENCE_MS,
							       &clearing->stores, err)
				      : 0;
}

void clearing_finish(struct clearing *clearing)
{
	removal_finish(&clearing->removal);
	job_stores_close(&clearing->stores);
	map_destroy(clearing->jobs);
	map_destroy(clearing->staying);
	map_destroy(clearing->told);
	map_destroy(clearing->users);
	json_decref(clearing->rows);
}

/* ---- telling ------------------------------------------------------------------------------ */

/* A directory's name may be meant for a terminal. */
static void print_paths(const char *what, const struct str_list *paths)
{
	for (size_t i = 0; i < paths->count; i++) {
		char *clean cleanup_free = report_clean(paths->items[i]);
		printf("  %s%s\n", what, clean);
	}
}

static void print_job(const struct clearing *clearing, const char *id)
{
	const struct removal *removal = &clearing->removal;
	char *bytes cleanup_free = str_format_bytes(removal->bytes);

	printf("%s %s, %s\n", id, clearing->is_dry ? "would be removed" : "removed", bytes);
	print_paths("", &removal->removed);
	print_paths("stays: ", &removal->stays);
}

static void tell_job(struct clearing *clearing, const char *id)
{
	const struct removal *removal = &clearing->removal;
	json_t *row = json_object();

	json_set_text(row, "id", id);
	json_set_int(row, "bytes", removal->bytes);
	json_set_list(row, "removed", &removal->removed);
	json_set_list(row, "stays", &removal->stays);
	json_array_append_new(clearing->rows, row);
	clearing->bytes += removal->bytes;
	if (!clearing->as_json)
		print_job(clearing, id);
}

/* ---- what a live pipeline uses ------------------------------------------------------------ */

static bool is_of_pipeline(const struct str_list *tags)
{
	for (size_t i = 0; i < tags->count; i++)
		if (str_starts_with(tags->items[i], JOB_FAMILY_PIPELINE))
			return true;
	return false;
}

static void note_uses(struct clearing *clearing, const char *id)
{
	struct opened opened cleanup_opened = {0};

	if (opened_find(&opened, id, NULL) < 0 || opened.view->is_final)
		return;
	for (size_t i = 0; i < opened.job->uses.count; i++) {
		const char *equals = strchr(opened.job->uses.items[i], '=');
		if (equals)
			map_set(clearing->users, equals + 1, mem_strdup(id));
	}
}

/* Of any engine: a pipeline's jobs may be on several. */
static int find_users(struct clearing *clearing, struct err *err)
{
	const struct job_list_filter filter = {
		.own_only = true, .live_only = true, .patience_ms = SCHEDULERS_PATIENCE_MS};
	struct job_list list cleanup_job_list = {0};

	if (job_list_find(&filter, &list, err) < 0)
		return -1;
	clearing->users = map_create(free);
	for (size_t i = 0; i < list.count; i++)
		if (is_of_pipeline(&list.items[i].tags))
			note_uses(clearing, list.items[i].id);
	return 0;
}

static int check_unused(struct clearing *clearing, const char *id, const struct job *job,
			struct err *err)
{
	if (!job || (!is_of_pipeline(&job->tags) && !job->sweep))
		return 0;
	if (!clearing->users && find_users(clearing, err) < 0)
		return -1;
	const char *user = map_get(clearing->users, id);
	return user ? err_set(err, ERR_USAGE,
			      "%s stays: %s, a job of a pipeline, uses its results; remove it once "
			      "that has ended",
			      id, user)
		    : 0;
}

/* ---- one job ------------------------------------------------------------------------------ */

/* The submission of a job may have named a place for its history that no site file names. */
static int open_own_place(const struct clearing *clearing, const struct job *job,
			  struct job_stores *stores, struct err *err)
{
	const char *location = job_config(job, "tony.history.location");
	struct err missing cleanup_err = {0};

	for (size_t i = 0; location && i < clearing->stores.count; i++)
		if (str_equal(history_store_location(clearing->stores.items[i]), location))
			location = NULL;
	if (!location)
		return 0;
	if (job_stores_open_within(location, SCHEDULERS_PATIENCE_MS, stores, &missing) < 0)
		return missing.kind == ERR_NOT_FOUND ? 0 : err_copy(err, &missing);
	return job_stores_check_reached(stores, job, err);
}

static int remove_history(const struct clearing *clearing, const struct job_stores *own,
			  const char *id, struct removal *removal, struct err *err)
{
	return job_stores_remove(&clearing->stores, id, removal, err) < 0
		       ? -1
		       : job_stores_remove(own, id, removal, err);
}

/* A server that answers may still refuse, as without the right key. */
static int try_history(const struct clearing *clearing, const struct job_stores *own,
		       const char *id, struct err *err)
{
	struct removal trial cleanup_removal = {.is_dry = true, .is_whole = true};

	return remove_history(clearing, own, id, &trial, err);
}

/* The history goes last: an AM that is still there would publish it anew. Nothing goes before its
 * place is known to let it go. */
static int remove_job(const struct clearing *clearing, const struct scheduler_client_ops *ops,
		      const char *id, const struct job *job, struct removal *removal,
		      struct err *err)
{
	struct job_stores own cleanup_job_stores = {0};
	bool has_more = ops && !ops->traits->is_history; /* than its history */

	if (clearing->with_history && job &&
	    (job_stores_check_reached(&clearing->stores, job, err) < 0 ||
	     open_own_place(clearing, job, &own, err) < 0))
		return -1;
	if (clearing->with_history && has_more && try_history(clearing, &own, id, err) < 0)
		return -1;
	if (has_more && scheduler_remove_job(ops, id, removal, err) < 0)
		return -1;
	return clearing->with_history ? remove_history(clearing, &own, id, removal, err) : 0;
}

void clearing_choose(struct clearing *clearing, const struct str_list *ids)
{
	str_list_copy(&clearing->removal.chosen, ids);
}

int clearing_check(struct clearing *clearing, const struct scheduler_client_ops *ops,
		   const char *id, const struct job *job, struct err *err)
{
	struct removal trial cleanup_removal = {.is_dry = true, .is_whole = clearing->with_history};

	str_list_copy(&trial.chosen, &clearing->removal.chosen);
	return check_unused(clearing, id, job, err) < 0
		       ? -1
		       : remove_job(clearing, ops, id, job, &trial, err);
}

int clearing_remove(struct clearing *clearing, const struct scheduler_client_ops *ops,
		    const char *id, const struct job *job, struct err *err)
{
	removal_begin(&clearing->removal);
	if (check_unused(clearing, id, job, err) < 0 ||
	    remove_job(clearing, ops, id, job, &clearing->removal, err) < 0) {
		map_set(clearing->staying, id, clearing);
		return -1;
	}
	map_set(clearing->jobs, id, clearing);
	if (clearing->removal.removed.count > 0)
		tell_job(clearing, id);
	return 0;
}

/* ---- all of them -------------------------------------------------------------------------- */

static void tell_all(struct clearing *clearing, const struct stage_cache_removal *cache)
{
	size_t count = json_array_size(clearing->rows);
	json_t *answer = json_object();

	if (clearing->as_json) {
		json_object_set(answer, "jobs", clearing->rows);
		json_set_int(answer, "bytes", clearing->bytes);
		json_set_int(answer, "cache_bytes", cache->bytes);
		json_set_int(answer, "failed", (int64_t)clearing->failed);
		json_object_set_new(answer, "dry_run", json_boolean(clearing->is_dry));
		report_json(answer);
		return;
	}
	json_decref(answer);
	if (count == 0 && cache->bytes == 0 && clearing->failed > 0)
		return; /* the error says it all */
	char *bytes cleanup_free = str_format_bytes(clearing->bytes);
	char *of_cache cleanup_free = str_format_bytes(cache->bytes);
	printf("%zu job%s%s, %s; of the cache %s\n", count, str_plural((int64_t)count),
	       clearing->is_dry ? " would be removed" : " removed", bytes, of_cache);
}

int clearing_age_cache(struct clearing *clearing, const struct scheduler_client_ops *ops,
		       int64_t max_age_ms, struct err *err)
{
	struct removal cache cleanup_removal = {.is_dry = clearing->is_dry};
	int result = ops->traits->staged ? ops->age_cache(max_age_ms, &cache, err) : 0;

	clearing->cache_bytes += cache.bytes;
	return result;
}

size_t clearing_sweep(const char *state, bool is_dry, struct err *err)
{
	const struct scheduler_client_ops *ops;
	size_t left = 0;

	for (size_t i = 0; (ops = scheduler_client_at(i)); i++) {
		char *jobs cleanup_free = fs_join(state, ops->traits->folder);
		left += removal_sweep(jobs, is_dry, err);
	}
	return left;
}

/* `is_error`: the verb is there for what is left of earlier removals, too. */
static int sweep(const char *state, bool is_error, struct err *err)
{
	struct err left cleanup_err = {0};

	if (clearing_sweep(state, false, &left) == 0)
		return 0;
	if (is_error)
		return err_copy(err, &left);
	log_warning("%s", err_message(&left));
	return 0;
}

int clearing_end(struct clearing *clearing, int64_t max_age_ms, struct err *err)
{
	char *state cleanup_free = state_dir_find(err);
	struct stage_cache_removal cache = {
		.is_dry = clearing->is_dry, .jobs = clearing->jobs, .bytes = clearing->cache_bytes};

	if (!state)
		return -1;
	int result = clearing->is_dry ? 0 : sweep(state, max_age_ms >= 0, err);
	stage_cache_drop(state, &clearing->removal.sources, &cache);
	if (max_age_ms >= 0) {
		struct removal copies cleanup_removal = {.is_dry = clearing->is_dry};
		stage_cache_age(state, max_age_ms, &cache);
		stored_jobs_age(clock_wall_ms() - max_age_ms, &copies);
		cache.bytes += copies.bytes;
	}
	tell_all(clearing, &cache);
	if (cache.left.kind && result < 0)
		err_set(err, err->kind, "%s\n%s", err_message(err), err_message(&cache.left));
	else if (cache.left.kind)
		result = err_copy(err, &cache.left);
	err_finish(&cache.left);
	return result;
}
