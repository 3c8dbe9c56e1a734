#include "client/ended_jobs.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/user.h"
#include "client/opened.h"
#include "client/schedulers.h"

struct search {
	const struct ended_filter *filter;
	struct ended_jobs *jobs;
	struct map *known; /* "ID USER": any user may have published any id */
};

void ended_jobs_finish(struct ended_jobs *jobs)
{
	for (size_t i = 0; i < jobs->count; i++)
		history_summary_finish(&jobs->items[i]);
	free(jobs->items);
	*jobs = (struct ended_jobs){0};
}

static bool is_wanted(const struct ended_filter *filter, const struct history_summary *job)
{
	return (filter->with_open || job_state_is_final(job->state)) &&
	       job->submitted_ms >= filter->since_ms &&
	       (filter->until_ms == 0 || job->submitted_ms < filter->until_ms) &&
	       (!filter->user || str_equal(filter->user, job->user)) &&
	       (!filter->state || str_equal(filter->state, job_state_name(job->state))) &&
	       (!filter->name || fnmatch(filter->name, job->name, 0) == 0);
}

/* Takes the summary. */
static void add(struct search *search, struct history_summary *summary)
{
	struct ended_jobs *jobs = search->jobs;
	char *key cleanup_free = mem_printf("%s %s", summary->id, summary->user);

	if (map_get(search->known, key) || !is_wanted(search->filter, summary)) {
		history_summary_finish(summary);
		return;
	}
	map_set(search->known, key, search);
	if (search->filter->visit) {
		search->filter->visit(search->filter->data, summary);
		history_summary_finish(summary);
		return;
	}
	jobs->items = mem_realloc_array(jobs->items, jobs->count + 1, sizeof(*jobs->items));
	jobs->items[jobs->count++] = *summary;
	*summary = (struct history_summary){0};
}

/* ---- in stores ---------------------------------------------------------------------------- */

static int search_folder(struct search *search, struct history_store *store, const char *folder,
			 struct err *err)
{
	struct history_jobs jobs cleanup_history_jobs = {0};

	if (history_store_jobs(store, folder, &jobs, err) < 0)
		return -1;
	for (size_t i = 0; i < jobs.count; i++) {
		struct history_summary summary;
		struct err flaw cleanup_err = {0};
		if (history_store_summary(store, jobs.items[i].path, &summary, &flaw) == 0)
			add(search, &summary);
		else if (history_store_is_others(store, jobs.items[i].path, &flaw))
			search->jobs->closed++;
		else if (flaw.kind != ERR_NOT_FOUND)
			log_warning("%s is passed over: %s", jobs.items[i].id, err_message(&flaw));
	}
	return 0;
}

/* Day by day, until there are enough of them. */
static int search_store(struct search *search, struct history_store *store, struct err *err)
{
	const struct ended_filter *filter = search->filter;
	struct history_folders folders cleanup_history_folders = {0};
	size_t before = search->jobs->count;

	if (history_store_folders(store, &folders, err) < 0)
		return -1;
	/* Of a bucket nobody can tell an empty place from a slip. */
	if (folders.count == 0 && filter->location && str_starts_with(filter->location, "s3://"))
		return err_set(err, ERR_NOT_FOUND, "there is no history in %s: nothing is there",
			       filter->location);
	for (size_t i = 0; i < folders.count; i++) {
		const struct history_folder *folder = &folders.items[i];
		bool is_day = folder->day_ms > 0;
		bool is_too_old = is_day && folder->end_ms <= filter->since_ms;
		bool is_too_new =
			is_day && filter->until_ms > 0 && folder->day_ms >= filter->until_ms;
		bool has_enough =
			is_day && filter->most > 0 && search->jobs->count - before >= filter->most;
		if (!is_too_old && !is_too_new && !has_enough &&
		    search_folder(search, store, folder->path, err) < 0)
			return -1;
	}
	return 0;
}

static int search_stores(struct search *search, struct err *err)
{
	struct job_stores stores cleanup_job_stores = {0};

	if (job_stores_open(search->filter->location, &stores, err) < 0)
		return -1;
	for (size_t i = 0; i < stores.count; i++) {
		struct err why cleanup_err = {0};
		if (search_store(search, stores.items[i], &why) == 0)
			continue;
		if (search->filter->location)
			return err_copy(err, &why);
		search->jobs->failure = why.kind;
		log_warning("jobs in %s are not shown: %s", history_store_location(stores.items[i]),
			    err_message(&why));
	}
	return 0;
}

/* ---- of schedulers ------------------------------------------------------------------------ */

/* One whose AM died gets its end, and its history, by being looked at. False: nor can any other be,
 * since a ticket or token has ended. */
static bool add_scheduled(struct search *search, const char *id)
{
	struct opened opened cleanup_opened = {0};
	struct history_summary summary;
	struct err err cleanup_err = {0};

	if (opened_find(&opened, id, &err) < 0) {
		log_warning("%s%s is passed over: %s", id,
			    err.kind == ERR_EXPIRED ? ", with all others there," : "",
			    err_message(&err));
	} else if (opened.view->is_final) {
		history_summary_of(opened.view, &summary);
		add(search, &summary);
	}
	return err.kind != ERR_EXPIRED;
}

/* Its history may be in a store by the name that the store has for this user. */
static bool is_known(const struct search *search, const struct job_summary *job)
{
	char *me cleanup_free = user_name_of(geteuid());
	char *own cleanup_free = mem_printf("%s %s", job->id, me);
	char *told cleanup_free = mem_printf("%s %s", job->id, job->user);

	return map_get(search->known, own) || map_get(search->known, told);
}

static int search_schedulers(struct search *search, struct err *err)
{
	size_t most = search->filter->most, seen = 0, count;
	const struct scheduler_client_ops *refuses = NULL;
	struct job_summary *jobs;

	int failure = schedulers_list_within(NULL, 0, 0, &jobs, &count, err);
	if (failure < 0)
		return -1;
	if (failure > 0)
		search->jobs->failure = (enum err_kind)failure;
	for (size_t i = 0; i < count && (most == 0 || seen < most); i++) {
		const struct scheduler_client_ops *ops = scheduler_client_of_id(jobs[i].id, NULL);
		if (!job_state_is_final(jobs[i].state))
			continue;
		if ((!ops || ops != refuses) && !is_known(search, &jobs[i]) &&
		    !add_scheduled(search, jobs[i].id))
			refuses = ops;
		seen += is_known(search, &jobs[i]);
	}
	job_summaries_free(jobs, count);
	return 0;
}

/* ------------------------------------------------------------------------------------------- */

static int newest_first(const void *left, const void *right)
{
	const struct history_summary *a = left, *b = right;

	if (a->submitted_ms != b->submitted_ms)
		return a->submitted_ms < b->submitted_ms ? 1 : -1;
	return strcmp(b->id, a->id);
}

static int find(const struct ended_filter *filter, bool asks_schedulers, struct ended_jobs *jobs,
		struct err *err)
{
	struct search search = {filter, jobs, map_create(NULL)};

	*jobs = (struct ended_jobs){0};
	int result = search_stores(&search, err);
	if (result == 0 && asks_schedulers)
		result = search_schedulers(&search, err);
	map_destroy(search.known);
	if (result < 0) {
		ended_jobs_finish(jobs);
		return -1;
	}
	if (jobs->count > 1)
		qsort(jobs->items, jobs->count, sizeof(*jobs->items), newest_first);
	while (filter->most > 0 && jobs->count > filter->most)
		history_summary_finish(&jobs->items[--jobs->count]);
	return 0;
}

int ended_jobs_find(const struct ended_filter *filter, struct ended_jobs *jobs, struct err *err)
{
	return find(filter, !filter->location, jobs, err);
}

int ended_jobs_stored(const struct ended_filter *filter, struct ended_jobs *jobs, struct err *err)
{
	return find(filter, false, jobs, err);
}
