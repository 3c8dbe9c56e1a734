#include "scheduler/local_jobs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "history/layout.h"
#include "job/record.h"
#include "scheduler/job_index.h"
#include "scheduler/local_job.h"
#include "scheduler/state_dir.h"

/* ---- all jobs, newest first --------------------------------------------------------------- */

/* A file system's clock ticks: what was written so lately may be followed by more of that time. */
enum { TICK_US = 100000 };

struct place {
	char *id;
	char *dir;
	int64_t made_us; /* when the description was written, which nobody does again */
	struct job_index_entry *known; /* NULL: what the job is has to be read */
};

struct places {
	const struct local_engine *engine;
	struct place *items;
	size_t count;
	struct job_index index;
};

static void places_finish(struct places *places)
{
	for (size_t i = 0; i < places->count; i++) {
		free(places->items[i].id);
		free(places->items[i].dir);
	}
	free(places->items);
	job_index_finish(&places->index);
}
#define cleanup_places __attribute__((cleanup(places_finish)))

static int newest_first(const void *left, const void *right)
{
	const struct place *a = left, *b = right;

	if (a->made_us != b->made_us)
		return a->made_us < b->made_us ? 1 : -1;
	return strcmp(b->id, a->id);
}

static void add_place(struct places *places, const char *jobs, const char *id, int64_t made_us,
		      struct job_index_entry *known)
{
	places->items = mem_realloc_array(places->items, places->count + 1, sizeof(*places->items));
	places->items[places->count++] = (struct place){
		.id = mem_strdup(id), .dir = fs_join(jobs, id), .made_us = made_us, .known = known};
}

static int64_t modified_us(const struct stat *status)
{
	return (int64_t)status->st_mtim.tv_sec * 1000000 + status->st_mtim.tv_nsec / 1000;
}

/* A directory is a job's once job.json is in it. `directory`: that of `jobs`, or AT_FDCWD. */
static void consider(struct places *places, int directory, const char *jobs, const char *name,
		     struct job_index_entry *known)
{
	char *below cleanup_free = fs_join(name, "job.json");
	char *whole cleanup_free = directory == AT_FDCWD ? fs_join(jobs, below) : NULL;
	struct stat status;

	if (!state_dir_is_job_id(name) || fstatat(directory, whole ? whole : below, &status, 0) < 0)
		return;
	int64_t made_us = modified_us(&status);
	add_place(places, jobs, name, made_us, known && known->stamp == made_us ? known : NULL);
}

/* Entries of `index`, by id. */
static struct map *known_jobs(const struct job_index *index)
{
	struct map *known = map_create(NULL);

	for (size_t i = 0; i < index->count; i++)
		for (size_t k = 0; k < index->sections[i].count; k++)
			map_set(known, index->sections[i].items[k].job.id,
				&index->sections[i].items[k]);
	return known;
}

static void consider_all(struct places *places, DIR *directory, const char *jobs, bool trusts)
{
	const struct dirent *entry;

	job_index_read(places->engine->traits->folder, &places->index);
	struct map *known = known_jobs(&places->index);
	while ((entry = readdir(directory))) {
		struct job_index_entry *job = map_get(known, entry->d_name);
		if (job && trusts)
			add_place(places, jobs, entry->d_name, job->stamp, job);
		else
			consider(places, dirfd(directory), jobs, entry->d_name, job);
	}
	map_destroy(known);
}

/* `id` NULL: all. A whole id needs no look at the other jobs. `trusts`: a known job is not looked
 * at, so see is_there(). */
static int find_places(struct places *places, const char *id, bool trusts, struct err *err)
{
	char *state cleanup_free = state_dir_find(err);
	char *jobs cleanup_free = state ? fs_join(state, places->engine->traits->folder) : NULL;
	if (!jobs)
		return -1;
	if (id)
		consider(places, AT_FDCWD, jobs, id, NULL);
	if (places->count > 0)
		return 0;
	DIR *directory cleanup_dir = opendir(jobs);
	if (!directory)
		return errno == ENOENT ? 0 : err_set_errno(err, "%s", jobs);
	consider_all(places, directory, jobs, trusts);
	if (places->count > 1)
		qsort(places->items, places->count, sizeof(*places->items), newest_first);
	return 0;
}

/* Some of it may be left of a job that was removed. */
static bool is_there(const struct place *place)
{
	return !place->known || local_job_is_there(place->dir);
}

/* Reads a job; one whose AM is gone has ended by then. */
static int read_settled(const struct local_engine *engine, const char *job_dir, struct job **job,
			struct job_view **view, struct err *err)
{
	if (local_job_read(job_dir, job, view, err) < 0)
		return -1;
	if (!local_job_settle(engine, job_dir, *view))
		return 0;
	job_view_destroy(*view);
	job_destroy(*job);
	return local_job_read(job_dir, job, view, err);
}

/* ---- list --------------------------------------------------------------------------------- */

static bool is_elastic(const struct job *job)
{
	for (size_t i = 0; i < job->type_count; i++)
		if (job_type_is_elastic(&job->types[i]))
			return true;
	return false;
}

/* From the last line alone, which does not say how many tasks of an elastic type were wanted. With
 * a door something may be left to do. */
static int read_end(const char *job_dir, struct job **job, struct job_view **view)
{
	if (local_job_has_door(job_dir) || local_job_read_end(job_dir, job, view) < 0)
		return -1;
	if (!is_elastic(*job))
		return 0;
	job_view_destroy(*view);
	job_destroy(*job);
	return -1;
}

/* False: there is no such job (any more), or it is passed over. */
static bool read_job(const struct local_engine *engine, const struct place *place,
		     struct job_summary *summary)
{
	struct err flaw cleanup_err = {0};
	struct job_view *view;
	struct job *job;

	if (read_end(place->dir, &job, &view) < 0 &&
	    read_settled(engine, place->dir, &job, &view, &flaw) < 0) {
		if (local_job_is_there(place->dir))
			log_warning("%s is passed over: %s%s%s", place->id, err_message(&flaw),
				    flaw.kind == ERR_INPUT ? "; to remove it: tony rm " : "",
				    flaw.kind == ERR_INPUT ? place->id : "");
		return false;
	}
	scheduler_summarize(engine->traits, job, view, summary);
	job_view_destroy(view);
	job_destroy(job);
	return true;
}

/* Of those that have ended, or live. `stamps` are those of the jobs; without one it is left out. */
static void keep_index(const char *place, const char *name, const struct job_summary *jobs,
		       const int64_t *stamps, size_t count)
{
	struct job_index index cleanup_job_index = {0};
	struct job_index_section *section = job_index_add(&index, name, 0);
	bool are_live = str_equal(name, JOB_INDEX_LIVE);

	for (size_t i = 0; i < count; i++) {
		struct job_summary kept;
		if (job_state_is_final(jobs[i].state) == are_live || stamps[i] == 0)
			continue;
		job_summary_copy(&jobs[i], &kept);
		job_index_add_job(section, &kept, stamps[i]);
	}
	job_index_write(place, &index);
}

/* Reads what the index does not know; with `has_ended` only the jobs of it that have. Writes the
 * index anew when these were many. */
static void list_all(const struct places *places, const bool *has_ended, struct job_summary *jobs,
		     size_t *count)
{
	const char *folder = places->engine->traits->folder;
	int64_t *stamps cleanup_free = mem_alloc_array(places->count + 1, sizeof(*stamps));
	size_t read_anew = 0;

	for (size_t i = 0; i < places->count; i++) {
		const struct place *place = &places->items[i];
		struct job_summary *job = &jobs[*count];
		stamps[*count] = place->made_us;
		if (place->known) {
			*job = place->known->job;
			place->known->job = (struct job_summary){0};
		} else if ((!has_ended || has_ended[i]) && read_job(places->engine, place, job)) {
			read_anew += job_state_is_final(job->state);
		} else {
			continue;
		}
		++*count;
	}
	if (job_index_is_stale(*count, read_anew))
		keep_index(folder, folder, jobs, stamps, *count);
}

/* Else each list of the live ones would look at all that have ended since the last list of all. */
static void learn_ended(const struct places *places, const bool *has_ended, size_t unknown)
{
	struct job_summary *jobs cleanup_free = NULL;
	size_t count = 0;

	if (!job_index_is_stale(places->count, unknown))
		return;
	jobs = mem_alloc_array(places->count, sizeof(*jobs));
	list_all(places, has_ended, jobs, &count);
	for (size_t i = 0; i < count; i++)
		job_summary_finish(&jobs[i]);
}

/* When the journal was last written; 0: there is none, or more may follow at the same time. */
static int64_t journal_stamp(const char *job_dir)
{
	char *path cleanup_free = fs_join(job_dir, "journal.jsonl");
	struct stat status;

	if (stat(path, &status) < 0)
		return 0;
	int64_t stamp = modified_us(&status);
	return stamp < clock_wall_ms() * 1000 - TICK_US ? stamp : 0;
}

/* Their number is added to *count. Returns how many of them had to be read. */
static size_t read_live(const struct places *places, const struct map *known,
			int64_t ended_since_ms, struct job_summary *jobs, int64_t *stamps,
			size_t *count)
{
	bool *has_ended cleanup_free = mem_alloc_array(places->count + 1, sizeof(*has_ended));
	size_t read_anew = 0, unknown = 0;

	for (size_t i = 0; i < places->count; i++) {
		const struct place *place = &places->items[i];
		struct job_index_entry *entry = map_get(known, place->id);
		struct job_summary *job = &jobs[*count];
		if (place->known && place->known->job.ended_ms < ended_since_ms)
			continue;
		int64_t stamp = stamps[*count] = journal_stamp(place->dir);
		/* Whose AM is gone has to be settled. */
		if (entry && entry->stamp == stamp && places->engine->is_held(place->dir)) {
			*job = entry->job;
			entry->job = (struct job_summary){0};
		} else if (local_job_ended_before(place->dir, ended_since_ms)) {
			has_ended[i] = true;
			unknown += !place->known;
			continue;
		} else if (!read_job(places->engine, place, job)) {
			continue;
		} else {
			read_anew++;
		}
		++*count;
	}
	learn_ended(places, has_ended, unknown);
	return read_anew;
}

static void list_live(const struct places *places, int64_t ended_since_ms, struct job_summary *jobs,
		      size_t *count)
{
	int64_t *stamps cleanup_free = mem_alloc_array(places->count + 1, sizeof(*stamps));
	struct job_index index cleanup_job_index = {0};
	char *name cleanup_free = mem_printf("live %s", places->engine->traits->folder);

	job_index_read(name, &index);
	struct map *known = known_jobs(&index);
	size_t read_anew = read_live(places, known, ended_since_ms, jobs, stamps, count);
	map_destroy(known);
	if (job_index_is_stale(*count, read_anew))
		keep_index(name, JOB_INDEX_LIVE, jobs, stamps, *count);
}

int local_jobs_list(const struct local_engine *engine, int64_t ended_since_ms,
		    struct job_summary **jobs, size_t *count, struct err *err)
{
	struct places places cleanup_places = {.engine = engine};
	bool wants_all = ended_since_ms <= 0;

	if (find_places(&places, NULL, !wants_all || ended_since_ms == SCHEDULER_AS_KNOWN, err) < 0)
		return -1;
	*jobs = mem_alloc_array(places.count, sizeof(**jobs));
	*count = 0;
	if (wants_all)
		list_all(&places, NULL, *jobs, count);
	else
		list_live(&places, ended_since_ms, *jobs, count);
	return 0;
}

/* ---- find --------------------------------------------------------------------------------- */

bool local_jobs_is_id(const char *id, struct history_days *days)
{
	const char *rest = str_after_form(id, "tony-00000000-000000-xxxxxxxx");
	struct tm tm = {0};

	if (!rest || *rest)
		return false;
	*days = (struct history_days){.last_ms = INT64_MAX};
	if (strptime(id, "tony-%Y%m%d-%H%M%S", &tm)) {
		days->first_ms = (int64_t)timegm(&tm) * 1000;
		days->last_ms = days->first_ms + HISTORY_DAY_MS;
	}
	return true;
}

static bool has_exact(const struct places *places, const char *id, size_t *found)
{
	for (size_t i = 0; i < places->count; i++) {
		if (str_equal(places->items[i].id, id)) {
			*found = i;
			return true;
		}
	}
	return false;
}

static bool has_name(const struct place *place, const char *name)
{
	char *own cleanup_free = place->known ? NULL : local_job_name(place->dir);

	return str_equal(place->known ? place->known->job.name : own, name) && is_there(place);
}

/* An AM that has told of its job's end stays for a moment. */
static bool is_live(const struct local_engine *engine, const char *job_dir)
{
	enum local_life life = local_job_is_idle(job_dir) && !engine->is_held(job_dir)
				       ? LOCAL_GONE
				       : local_job_life(engine, job_dir, NULL);

	return (life == LOCAL_LIVE || life == LOCAL_STARTING) &&
	       !local_job_ended_before(job_dir, INT64_MAX);
}

/* The newest. */
static bool has_any(const struct places *places, size_t *found)
{
	for (*found = 0; *found < places->count; ++*found)
		if (is_there(&places->items[*found]))
			return true;
	return false;
}

/* By the beginning of an id: how many have it, the first of them, and, when there are several, an
 * error that names them. */
static size_t match_beginning(const struct places *places, const char *id, size_t *found,
			      struct err *err)
{
	struct str_list ids cleanup_str_list = {0};

	for (size_t i = 0; i < places->count; i++) {
		if (!scheduler_id_begins(places->items[i].id, id) || !is_there(&places->items[i]))
			continue;
		if (ids.count == 0)
			*found = i;
		str_list_add(&ids, places->items[i].id);
	}
	if (ids.count > 1)
		scheduler_err_several(id, &ids, err);
	return ids.count;
}

/* By the name of the newest live job, or of the newest that has ended. */
static bool match_name(const struct places *places, const char *name, size_t *found)
{
	size_t newest = places->count;

	for (size_t i = 0; i < places->count; i++) {
		if (!has_name(&places->items[i], name))
			continue;
		newest = newest < i ? newest : i;
		*found = i;
		if (!places->items[i].known && is_live(places->engine, places->items[i].dir))
			return true;
	}
	*found = newest;
	return newest < places->count;
}

static int choose(const struct places *places, const char *id, size_t *found, struct err *err)
{
	if (!id && !has_any(places, found))
		return err_set(err, ERR_NOT_FOUND, "there is no job yet");
	if (!id || has_exact(places, id, found))
		return 0;
	size_t count = *id ? match_beginning(places, id, found, err) : 0;
	if (count == 1 || (count == 0 && match_name(places, id, found)))
		return 0;
	return count > 1 ? -1
			 : err_set(err, ERR_NOT_FOUND,
				   "no job \"%s\"; `tony list --all` shows those there are", id);
}

/* The description, and whether the job has ended: its journal, of many lines where it has many
 * tasks, is read whole only when its AM is gone. */
static int look_for_end(const struct local_engine *engine, const char *job_dir, struct job **job,
			bool *ended, struct err *err)
{
	char *path cleanup_free = fs_join(job_dir, "job.json");
	char *journal cleanup_free = fs_join(job_dir, "journal.jsonl");
	struct job_view *view;

	if (local_job_has_door(job_dir) && local_job_life(engine, job_dir, NULL) == LOCAL_LIVE) {
		*job = job_read_file(path, err);
		*ended = record_ends_journal(journal);
		return *job ? 0 : -1;
	}
	if (read_settled(engine, job_dir, job, &view, err) < 0)
		return -1;
	*ended = view->is_final;
	job_view_destroy(view);
	return 0;
}

static int open_door(const struct local_engine *engine, const struct place *place,
		     struct job_door *door, struct err *err)
{
	char *token cleanup_free = fs_join(place->dir, "token");
	struct job_door found = {0};
	struct stat status;
	struct job *job;

	if (look_for_end(engine, place->dir, &job, &found.ended, err) < 0)
		return -1;
	found.is_sealed = job->tls;
	job_destroy(job);
	if (stat(token, &status) < 0)
		return err_set_errno(err, "%s", token);
	found.token = job_read_token(token, err);
	if (!found.token)
		return -1;
	found.owner = status.st_uid;
	found.job_dir = mem_strdup(place->dir);
	if (!found.ended)
		local_job_life(engine, place->dir, &found.address);
	*door = found;
	return 0;
}

int local_jobs_find(const struct local_engine *engine, const char *id, struct job_door *door,
		    char **full_id, struct err *err)
{
	struct places places cleanup_places = {.engine = engine};
	size_t found = 0;

	if (find_places(&places, id, true, err) < 0 || choose(&places, id, &found, err) < 0 ||
	    open_door(engine, &places.items[found], door, err) < 0)
		return -1;
	if (full_id)
		*full_id = mem_strdup(places.items[found].id);
	return 0;
}
