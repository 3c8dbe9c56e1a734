/* The jobs of which a history tells, be they thousands: those that have ended are indexed. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "scheduler/job_index.h"
#include "scheduler/job_stores.h"

/* One look at a store: what is known of it, and what will be. */
struct look {
	struct history_store *store;
	struct job_index known, fresh;
	/* Each look reads these anew: TonY's that have not ended, and ids without a user, of
	 * entries whose summaries cannot be read. */
	struct job_index_section live;
	size_t read_anew;
};

static void look_finish(struct look *look)
{
	for (size_t i = 0; i < look->live.count; i++)
		job_summary_finish(&look->live.items[i].job);
	free(look->live.items);
	job_index_finish(&look->fresh);
}

static void summarize(struct history_summary *from, struct job_summary *to)
{
	*to = (struct job_summary){
		.id = mem_steal(&from->id),
		.name = mem_steal(&from->name),
		.user = mem_steal(&from->user),
		.owner = mem_steal(&from->owner),
		.framework = mem_steal(&from->framework),
		.scheduler = mem_steal(&from->scheduler),
		.queue = mem_steal(&from->queue),
		.tags = from->tags,
		.task_count = from->task_count,
		.state = from->state,
		.submitted_ms = from->submitted_ms,
		.ended_ms = from->ended_ms,
		.message = mem_steal(&from->message),
	};
	from->tags = (struct str_list){0};
	history_summary_finish(from);
}

/* ---- one folder --------------------------------------------------------------------------- */

/* False: the folder has to be looked at again, since one of its jobs may become another. */
static bool read_job(struct look *look, const struct history_job *job,
		     struct job_index_section *section)
{
	struct history_summary summary;
	struct job_summary told;
	struct err flaw cleanup_err = {0};

	if (history_store_summary(look->store, job->path, &summary, &flaw) < 0) {
		if (flaw.kind == ERR_NOT_FOUND)
			return true;
		bool is_others = history_store_is_others(look->store, job->path, &flaw);
		if (!is_others)
			log_warning("%s is passed over: %s", job->id, err_message(&flaw));
		told = (struct job_summary){.id = mem_strdup(job->id)};
		/* An entry that another user has damaged is not read again. */
		bool is_damaged = is_others && flaw.kind == ERR_INPUT;
		job_index_add_job(is_damaged ? section : &look->live, &told,
				  is_damaged ? job->modified_ms : 0);
		return is_damaged;
	}
	bool has_ended = job_state_is_final(summary.state);
	summarize(&summary, &told);
	look->read_anew += has_ended;
	job_index_add_job(has_ended ? section : &look->live, &told, job->modified_ms);
	return has_ended;
}

/* Entries by their job's id. */
static struct map *map_section(const struct job_index_section *section)
{
	struct map *map = map_create(NULL);

	for (size_t i = 0; section && i < section->count; i++)
		map_set(map, section->items[i].job.id, &section->items[i]);
	return map;
}

static void read_jobs(struct look *look, const struct history_jobs *jobs,
		      struct job_index_section *old, struct job_index_section *section)
{
	struct map *known = map_section(old);

	for (size_t i = 0; i < jobs->count; i++) {
		const struct history_job *job = &jobs->items[i];
		struct job_index_entry *entry = map_get(known, job->id);
		if (entry && entry->stamp == job->modified_ms)
			job_index_add_job(section, &entry->job, entry->stamp);
		else if (!read_job(look, job, section))
			section->stamp = 0;
	}
	map_destroy(known);
}

static int look_at(struct look *look, const struct history_folder *folder, struct err *err)
{
	struct job_index_section *old = job_index_find(&look->known, folder->path);
	bool is_settled = folder->modified_ms < clock_wall_ms() - HISTORY_SETTLED_MS;
	struct history_jobs jobs cleanup_history_jobs = {0};

	if (old && old->stamp > 0 && old->stamp == folder->modified_ms) {
		struct job_index_section *same =
			job_index_add(&look->fresh, folder->path, old->stamp);
		same->items = mem_steal(&old->items);
		same->count = old->count;
		old->count = 0;
		return 0;
	}
	if (history_store_jobs(look->store, folder->path, &jobs, err) < 0)
		return -1;
	struct job_index_section *section =
		job_index_add(&look->fresh, folder->path,
			      is_settled && !jobs.is_closed ? folder->modified_ms : 0);
	read_jobs(look, &jobs, old, section);
	/* Not to be listed again is worth as much as what it has. */
	if (section->stamp > 0)
		look->read_anew += section->count;
	return 0;
}

/* ---- all of them -------------------------------------------------------------------------- */

static int look_at_store(struct look *look, struct err *err)
{
	const char *place = history_store_location(look->store);
	struct history_folders folders cleanup_history_folders = {0};

	if (history_store_folders(look->store, &folders, err) < 0)
		return -1;
	job_index_read(place, &look->known);
	for (size_t i = 0; i < folders.count; i++)
		if (look_at(look, &folders.items[i], err) < 0)
			return -1;
	if (job_index_is_stale(job_index_count(&look->fresh), look->read_anew))
		job_index_write(place, &look->fresh);
	return 0;
}

/* The caller finishes what is fresh. */
static void look_at_any(struct look *look, struct history_store *store)
{
	struct err err cleanup_err = {0};

	*look = (struct look){.store = store};
	if (look_at_store(look, &err) < 0)
		log_warning("jobs in %s are not shown: %s", history_store_location(store),
			    err_message(&err));
	job_index_finish(&look->known);
}

struct taking {
	const struct stored_filter *filter;
	struct str_list own;		   /* job_stores_own_names() */
	const struct history_store *store; /* the one that is looked at */
	struct job_summary *jobs;
	size_t count;
	struct map *known; /* "ID USER": any user may have published any id */
};

static bool fits(const struct stored_filter *filter, const struct job_summary *job)
{
	if (!job->user && (!filter || !filter->beginning))
		return false;
	return !filter ||
	       ((!filter->beginning || scheduler_id_begins(job->id, filter->beginning)) &&
		(!filter->name ||
		 (str_equal(job->name, filter->name) && job_state_is_final(job->state))) &&
		(!filter->user || str_equal(job->user, filter->user)) &&
		(!filter->own_only || !job->is_others));
}

static void take(struct taking *taking, struct job_summary *job)
{
	char *key cleanup_free = mem_printf("%s %s", job->id, job->user ? job->user : "");
	const struct history_record record = {.owner = job->owner, .user = job->user};

	job->is_others = !job->user || !job_stores_is_among(taking->store, &record, &taking->own);
	job->is_claimed = !history_store_has_owners(taking->store);
	if (!fits(taking->filter, job) || map_get(taking->known, key))
		return;
	map_set(taking->known, key, taking);
	taking->jobs[taking->count++] = *job;
	*job = (struct job_summary){0};
}

static void take_all(struct taking *taking, struct look *look)
{
	struct job_index *index = &look->fresh;
	size_t most = taking->count + job_index_count(index) + look->live.count;

	taking->store = look->store;
	taking->jobs = mem_realloc_array(taking->jobs, most + 1, sizeof(*taking->jobs));
	for (size_t i = 0; i < index->count; i++)
		for (size_t k = 0; k < index->sections[i].count; k++)
			take(taking, &index->sections[i].items[k].job);
	for (size_t i = 0; i < look->live.count; i++)
		take(taking, &look->live.items[i].job);
}

void job_stores_list(const struct job_stores *stores, const struct stored_filter *filter,
		     struct job_summary **jobs, size_t *count)
{
	struct taking taking = {.filter = filter, .known = map_create(NULL)};

	job_stores_own_names(&taking.own);
	for (size_t i = 0; i < stores->count; i++) {
		struct look look;
		look_at_any(&look, stores->items[i]);
		take_all(&taking, &look);
		look_finish(&look);
	}
	map_destroy(taking.known);
	str_list_finish(&taking.own);
	job_summaries_sort(taking.jobs, taking.count);
	*jobs = taking.jobs;
	*count = taking.count;
}

void job_stores_ids(const struct job_stores *stores, const struct stored_filter *filter,
		    struct str_list *ids)
{
	struct job_summary *jobs;
	size_t count;

	job_stores_list(stores, filter, &jobs, &count);
	for (size_t i = 0; i < count; i++)
		if (!str_list_has(ids, jobs[i].id))
			str_list_add(ids, jobs[i].id);
	job_summaries_free(jobs, count);
}
