#include "portal/indexer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "job/job.h"
#include "scheduler/am_calls.h"
#include "scheduler/job_stores.h"
#include "scheduler/scheduler.h"

enum {
	BATCH = 200, /* jobs between two commits */
	PAUSE_MS = 2000,
	PAUSE_FACTOR = 5,	  /* and at least so many times what a look took */
	SHOWN_MS = 60 * 1000,	  /* an ended job without its history */
	HEALING_MS = 3600 * 1000, /* in which a damaged entry may become whole */
	LEARN_MS = 2000,	  /* of a look, for what lists do not tell of live jobs */
	WORK_MS = 10 * 1000,	  /* between two questions to AMs how far their programs are */
	ASK_MS = 500,		  /* for one of these */
};

/* ---- a folder ----------------------------------------------------------------------------- */

/* A look at one. */
struct folder_look {
	struct portal_index *index;
	struct history_store *store;
	const struct history_folder *from;
	struct portal_folder *folder;
	struct map *known; /* ids */
	int64_t now_ms;
};

static void on_known(void *data, const char *id, int64_t modified_ms)
{
	map_set(data, id, mem_printf("%lld", (long long)modified_ms));
}

static bool is_known(const struct map *known, const struct history_job *job)
{
	char *modified cleanup_free = mem_printf("%lld", (long long)job->modified_ms);

	return str_equal(map_get(known, job->id), modified);
}

/* Also if the folder does not change. */
static void look_again(struct folder_look *look)
{
	look->folder->modified_ms = 0;
}

static int put_damaged(struct folder_look *look, const struct history_job *job, const char *reason,
		       struct err *err)
{
	int64_t day_ms = look->from->day_ms;
	int64_t submitted_ms = day_ms > 0 && day_ms <= look->now_ms ? day_ms : job->modified_ms;

	/* Somebody may be about to write it. */
	if (job->modified_ms + HEALING_MS > look->now_ms)
		look_again(look);
	return portal_index_put_damaged(look->index, job->id, reason,
					submitted_ms < look->now_ms ? submitted_ms : look->now_ms,
					look->folder->number, err);
}

static int read_summary(const struct folder_look *look, const struct history_job *job,
			struct history_summary *summary, struct err *err)
{
	if (history_store_summary(look->store, job->path, summary, err) < 0)
		return -1;
	/* It would be the newest of all for ever. */
	if (summary->submitted_ms <= look->now_ms + HISTORY_DAY_MS)
		return 0;
	history_summary_finish(summary);
	return err_set(err, ERR_INPUT, "%s: says that it was submitted in the future", job->path);
}

/* Whether it is the entry's fault that it was not read, and not the store's or ours. */
static bool is_damage(const struct err *flaw)
{
	return flaw->kind == ERR_INPUT || flaw->kind == ERR_NOT_FOUND || flaw->kind == ERR_DENIED;
}

/* What cannot be read hurts no other. */
static int read_job(struct folder_look *look, const struct history_job *job, struct err *err)
{
	struct history_summary summary cleanup_history_summary = {0};
	struct err flaw cleanup_err = {0};

	if (read_summary(look, job, &summary, &flaw) == 0) {
		return portal_index_put(look->index, &summary, look->folder->number,
					job->modified_ms, err);
	}
	/* In a bucket, which tells no time, the summary comes last. */
	if (flaw.kind == ERR_NOT_FOUND && job->modified_ms == 0)
		return 0;
	if (is_damage(&flaw))
		return put_damaged(look, job, err_message(&flaw), err);
	log_trouble("an entry of a history", err_message(&flaw));
	look_again(look);
	return 0;
}

static int read_jobs(struct folder_look *look, const struct history_jobs *jobs, struct err *err)
{
	size_t read = 0;

	for (size_t i = 0; i < jobs->count; i++) {
		const struct history_job *job = &jobs->items[i];
		bool is_new = !is_known(look->known, job);
		map_remove(look->known, job->id);
		if (!is_new)
			continue;
		if (read_job(look, job, err) < 0)
			return -1;
		if (++read % BATCH == 0 && (portal_index_commit(look->index, err) < 0 ||
					    portal_index_begin(look->index, err) < 0))
			return -1;
	}
	return 0;
}

static int read_strays(struct folder_look *look, const struct history_jobs *jobs, struct err *err)
{
	for (size_t i = 0; i < jobs->strays.count; i++) {
		const struct history_job stray = {.id = jobs->strays.items[i]};
		map_remove(look->known, stray.id);
		if (put_damaged(look, &stray, "is no directory, as a job's history is", err) < 0)
			return -1;
	}
	return 0;
}

/* Those that were known and are not there any more. */
static int forget_jobs(struct portal_index *index, int64_t folder, const struct map *known,
		       struct err *err)
{
	const char *id;
	void *value;

	for (size_t i = 0; map_next(known, &i, &id, &value);)
		if (portal_index_remove(index, id, folder, err) < 0)
			return -1;
	return 0;
}

static int update_folder(struct folder_look *look, struct err *err)
{
	struct history_jobs jobs cleanup_history_jobs = {0};
	const struct history_folder *from = look->from;
	/* What comes in the same moment as the list would not show in the folder's time. */
	bool is_settled = from->modified_ms + HISTORY_SETTLED_MS < look->now_ms;

	if (history_store_jobs(look->store, from->path, &jobs, err) < 0)
		return -1;
	look->folder->modified_ms = is_settled && !jobs.is_closed ? from->modified_ms : 0;
	if (portal_index_visit(look->index, look->folder->number, on_known, look->known, err) < 0 ||
	    read_jobs(look, &jobs, err) < 0 || read_strays(look, &jobs, err) < 0 ||
	    forget_jobs(look->index, look->folder->number, look->known, err) < 0)
		return -1;
	return portal_index_set_folder(look->index, look->folder, err);
}

static int look_at_folder(struct portal_index *index, struct history_store *store,
			  const struct history_folder *from, struct err *err)
{
	struct portal_folder folder;
	struct folder_look look = {.index = index,
				   .store = store,
				   .from = from,
				   .folder = &folder,
				   .now_ms = clock_wall_ms()};

	if (portal_index_folder(index, history_store_location(store), from->path, &folder, err) < 0)
		return -1;
	/* Jobs that have not ended change within their folders. */
	if (from->modified_ms > 0 && folder.modified_ms == from->modified_ms && from->day_ms > 0)
		return 0;
	if (portal_index_begin(index, err) < 0)
		return -1;
	look.known = map_create(free);
	int result = update_folder(&look, err);
	map_destroy(look.known);
	return portal_index_commit(index, result < 0 ? NULL : err) < 0 ? -1 : result;
}

int indexer_look(struct portal_index *index, struct history_store *store, struct err *err)
{
	struct history_folders folders cleanup_history_folders = {0};
	struct str_list paths cleanup_str_list = {0};

	if (history_store_folders(store, &folders, err) < 0)
		return -1;
	for (size_t i = 0; i < folders.count; i++) {
		str_list_add(&paths, folders.items[i].path);
		if (look_at_folder(index, store, &folders.items[i], err) < 0)
			return -1;
	}
	return portal_index_keep_folders(index, history_store_location(store), &paths, err);
}

/* ---- what schedulers know ----------------------------------------------------------------- */

/* Another one whenever what is shown has changed. */
static int64_t version_of(const struct history_summary *summary)
{
	json_t *json cleanup_json = history_summary_to_json(summary);
	char *text cleanup_free = json_text(json);

	return crc32c(text, strlen(text));
}

static int put_live(struct portal_index *index, const struct job_summary *job, struct map *known,
		    struct err *err)
{
	struct history_summary summary = {.id = job->id,
					  .name = job->name,
					  .user = job->user,
					  .framework = job->framework,
					  .scheduler = job->scheduler,
					  .queue = job->queue,
					  .tags = job->tags,
					  .task_count = job->task_count,
					  .message = job->waiting ? job->waiting : job->message,
					  .state = job->state,
					  .submitted_ms = job->submitted_ms,
					  .ended_ms = job->ended_ms};

	const struct history_job as_known = {.id = job->id, .modified_ms = version_of(&summary)};
	bool is_same = is_known(known, &as_known);
	map_remove(known, job->id);
	return is_same ? 0 : portal_index_put(index, &summary, 0, as_known.modified_ms, err);
}

/* Of one that has ended its history is the better word, once it is there. */
static bool is_shown(const struct job_summary *job)
{
	return !job_state_is_final(job->state) || job->ended_ms + SHOWN_MS > clock_wall_ms();
}

static int update_live(struct portal_index *index, const struct job_summary *jobs, size_t count,
		       struct err *err)
{
	struct map *known = map_create(free);
	int result = portal_index_visit(index, 0, on_known, known, err);

	for (size_t i = 0; i < count && result == 0; i++)
		if (is_shown(&jobs[i]))
			result = put_live(index, &jobs[i], known, err);
	if (result == 0)
		result = forget_jobs(index, 0, known, err);
	map_destroy(known);
	return result;
}

static int look_at_schedulers(struct portal_index *index, const struct indexer *indexer,
			      struct err *err)
{
	struct err why cleanup_err = {0};
	struct job_summary *jobs;
	size_t count;

	if (indexer->list_jobs(clock_wall_ms() - SHOWN_MS, &jobs, &count, &why) < 0) {
		log_trouble("schedulers", err_message(&why));
		return 0;
	}
	log_trouble_over("schedulers");
	int result = portal_index_begin(index, err);
	if (result == 0)
		result = update_live(index, jobs, count, err);
	if (result == 0)
		result = portal_index_commit(index, err);
	job_summaries_free(jobs, count);
	return result;
}

/* A job whose AM is asked how far its programs are. */
struct work_question {
	const char *id;
	struct am_call *call; /* NULL: it has no AM */
};

static struct am_call *ask_work(const struct indexer *indexer, struct am_calls *calls,
				const char *id)
{
	struct job_door door = {0};
	char *full_id cleanup_free = NULL;
	struct am_call *call = NULL;

	if (indexer->find_job(id, &door, &full_id, NULL) && door.address)
		call = am_call_start(calls, &door, "GET", "/v1/work", NULL, ASK_MS);
	job_door_finish(&door);
	return call;
}

/* NULL: this AM does not tell, or not soon. The caller frees. */
static char *take_work(struct am_call *call)
{
	static const char *const members[] = {"done", "least_step", "most_step", "steps"};
	struct str answer cleanup_str = {0};
	int status;

	if (am_call_take(call, &status, &answer, NULL) < 0 || status != 200)
		return NULL;
	json_t *told cleanup_json = json_parse(answer.text, answer.length, NULL);
	json_t *work cleanup_json = json_object();
	for (size_t i = 0; i < array_length(members); i++) {
		json_t *value = json_object_get(told, members[i]);
		if (json_is_number(value))
			json_object_set(work, members[i], value);
	}
	return json_object_size(work) > 0 ? json_text(work) : NULL;
}

/* `next`: where the look before ended, so that one that is short of time leaves nobody out. */
static size_t ask_all(const struct indexer *indexer, const struct str_list *ids, size_t *next,
		      struct am_calls *calls, struct work_question *questions)
{
	int64_t until = clock_monotonic_ms() + LEARN_MS;
	size_t count = 0;

	for (; count < ids->count && clock_monotonic_ms() < until; count++, (*next)++) {
		const char *id = ids->items[*next % ids->count];
		questions[count] = (struct work_question){id, ask_work(indexer, calls, id)};
	}
	am_calls_finish(calls, LEARN_MS);
	return count;
}

static int learn_work(struct portal_index *index, const struct indexer *indexer, size_t *next,
		      struct err *err)
{
	struct str_list ids cleanup_str_list = {0};
	int result = 0;

	if (portal_index_running(index, &ids, err) < 0)
		return -1;
	struct am_calls *calls = am_calls_create();
	struct work_question *questions cleanup_free =
		mem_alloc_array(ids.count + 1, sizeof(*questions));
	size_t count = ask_all(indexer, &ids, next, calls, questions);
	for (size_t i = 0; i < count; i++) {
		struct am_call *call = questions[i].call;
		if (!call || !am_call_has_ended(call) || result < 0) {
			am_call_drop(call);
			continue;
		}
		char *work cleanup_free = take_work(call);
		if (work)
			result = portal_index_set_work(index, questions[i].id, work, err);
	}
	am_calls_destroy(calls);
	return result;
}

/* Of a job that goes on: its description, which nobody writes again. NULL: it is not known yet. */
static struct job *find_description(const struct indexer *indexer, const char *id)
{
	struct job_door door = {0};
	struct err why cleanup_err = {0};
	char *full_id cleanup_free = NULL;
	struct job *job = NULL;

	if (indexer->find_job(id, &door, &full_id, &why)) {
		char *path cleanup_free = fs_join(door.job_dir, "job.json");
		job = job_read_file(path, &why);
	}
	if (!job)
		log_debug("who may see %s: %s", id, err_message(&why));
	job_door_finish(&door);
	return job;
}

static int learn_acls(struct portal_index *index, const struct indexer *indexer, struct err *err)
{
	struct str_list ids cleanup_str_list = {0};
	int64_t until = clock_monotonic_ms() + LEARN_MS;

	if (portal_index_without_acls(index, &ids, err) < 0)
		return -1;
	for (size_t i = 0; i < ids.count && clock_monotonic_ms() < until; i++) {
		struct job *job = find_description(indexer, ids.items[i]);
		int told = job ? portal_index_set_acls(index, ids.items[i], job_view_acl(job),
						       job_modify_acl(job), err)
			       : 0;
		job_destroy(job);
		if (told < 0)
			return -1;
	}
	return 0;
}

/* ------------------------------------------------------------------------------------------- */

static void on_removed(void *data, const char *text)
{
	log_write(LOG_LEVEL_AUDIT, "retention: %s", text);
}

static void on_stays(void *data, const char *path, const char *text)
{
	char *subject cleanup_free = mem_printf("retention of %s", path);

	log_trouble(subject, text);
}

static void retain(const struct indexer *indexer, struct history_store *store)
{
	struct history_retention retention = indexer->retention;
	struct history_retained retained;
	struct err err cleanup_err = {0};

	retention.on_removed = on_removed;
	retention.on_stays = on_stays;
	if (indexer->retention.age_ms == 0 && indexer->retention.bytes == 0)
		return;
	if (history_retain(store, &retention, clock_wall_ms(), &retained, &err) < 0)
		log_trouble("retention", err_message(&err));
}

/* A store that cannot be looked at now keeps its place in the index. -1: the index is of no use. */
static int look_at_stores(struct portal_index *index, const struct indexer *indexer, bool retains,
			  struct err *err)
{
	struct job_stores stores cleanup_job_stores = {0};
	struct str_list locations cleanup_str_list = {0};
	struct err why cleanup_err = {0};

	if (job_stores_open(indexer->location, &stores, &why) < 0) {
		log_trouble("stores", err_message(&why));
		return 0;
	}
	for (size_t i = 0; i < stores.count; i++) {
		const char *location = history_store_location(stores.items[i]);
		str_list_add(&locations, location);
		err_finish(&why);
		if (indexer_look(index, stores.items[i], &why) < 0)
			log_trouble(location, err_message(&why));
		else
			log_trouble_over(location);
		if (retains)
			retain(indexer, stores.items[i]);
	}
	return portal_index_keep_locations(index, &locations, err);
}

/* `next_work` NULL: no AM is asked. */
static int look(struct portal_index *index, const struct indexer *indexer, size_t *next_work,
		bool retains, struct err *err)
{
	if (look_at_schedulers(index, indexer, err) < 0 || learn_acls(index, indexer, err) < 0 ||
	    (next_work && learn_work(index, indexer, next_work, err) < 0) ||
	    look_at_stores(index, indexer, retains, err) < 0)
		return -1;
	return portal_index_set_age(index, clock_wall_ms(), err);
}

void indexer_run(const struct indexer *indexer)
{
	struct err err cleanup_err = {0};
	struct portal_index *index = portal_index_open(indexer->index_path, &err);
	int64_t retained_at = INT64_MIN / 2, asked_at = INT64_MIN / 2;
	size_t next_work = 0;

	while (index) {
		int64_t begin = clock_monotonic_ms();
		bool retains = begin - retained_at >= indexer->retain_interval_ms;
		bool asks = begin - asked_at >= WORK_MS;
		if (look(index, indexer, asks ? &next_work : NULL, retains, &err) < 0)
			break;
		if (retains)
			retained_at = begin;
		if (asks)
			asked_at = begin;
		int64_t took = clock_monotonic_ms() - begin;
		int64_t pause = took * PAUSE_FACTOR > PAUSE_MS ? took * PAUSE_FACTOR : PAUSE_MS;
		usleep((useconds_t)(pause * 1000));
	}
	/* Whoever starts the next one finds a flawed index, and makes it anew. */
	log_error("the index of jobs: %s", err_message(&err));
	_exit(1);
}
