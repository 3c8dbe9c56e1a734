/* Ended jobs of which nothing is left but their history in a store. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "history/stored_logs.h"
#include "job/journal.h"
#include "scheduler/job_stores.h"
#include "scheduler/scheduler.h"
#include "scheduler/state_dir.h"

#define COPY_MS	   (7 * (int64_t)86400000) /* for which a copy is kept */
#define OTHERS_CAP ((int64_t)64 << 20)	   /* bytes of a file of another user's */
#define ORIGIN	   "origin"		   /* in a copy: word_origin() */
#define ORIGIN_CAP (64 << 10)

enum { PATIENCE_MS = 3000 }; /* with a server that may have the job */

/* ---- finding ------------------------------------------------------------------------------ */

int stored_job_find(struct history_store *store, const char *id, const char *user,
		    struct history_record *record, struct err *err)
{
	struct history_days days;
	bool is_known = scheduler_client_of_id(id, &days);

	return history_store_find(store, id, is_known ? &days : NULL, user, record, err);
}

/* The record of the job with this whole id: that user's; NULL: this user's own if one of the stores
 * has it, else the first. *store: where it is. -1: `err`, there is none. */
static int find_entry(const struct job_stores *stores, const char *id, const char *user,
		      struct history_store **store, struct history_record *record, struct err *err)
{
	*store = NULL;
	*record = (struct history_record){0};
	for (size_t i = 0; i < stores->count; i++) {
		struct history_record one = {0};
		struct err why cleanup_err = {0};
		if (stored_job_find(stores->items[i], id, user, &one, &why) < 0) {
			if (why.kind != ERR_NOT_FOUND)
				log_warning("%s", err_message(&why));
			continue;
		}
		bool is_wanted = job_stores_is_of(stores->items[i], &one, user);
		if ((user || record->path) && !is_wanted) {
			history_record_finish(&one);
			continue;
		}
		history_record_finish(record);
		*record = one;
		*store = stores->items[i];
		if (is_wanted)
			return 0;
	}
	return record->path ? 0 : err_set(err, ERR_NOT_FOUND, "no job \"%s\" in any history", id);
}

char *job_stores_read(const char *id, const char *user, const char *name, size_t cap,
		      size_t *length, struct err *err)
{
	struct job_stores stores cleanup_job_stores = {0};
	struct history_record record cleanup_history_record = {0};
	struct history_store *store;

	if (job_stores_open(NULL, &stores, err) < 0 ||
	    find_entry(&stores, id, user, &store, &record, err) < 0)
		return NULL;
	if (job_stores_is_of(store, &record, user))
		return history_store_read_file(store, &record, name, cap, length, err);
	err_set(err, ERR_NOT_FOUND, "%s in %s is %s's", id, history_store_location(store),
		record.user);
	return NULL;
}

/* The only one of this user's jobs whose id begins so; NULL: there is none, or several. */
static char *complete_own(const struct job_stores *stores, const char *id)
{
	const struct stored_filter own = {.beginning = id, .own_only = true};
	struct str_list found cleanup_str_list = {0};

	job_stores_ids(stores, &own, &found);
	return found.count == 1 ? mem_strdup(found.items[0]) : NULL;
}

/* The whole id that is meant: of that user's jobs, or (NULL) of this user's before any other; the
 * caller frees. */
static char *complete(const struct job_stores *stores, const char *id, const char *user,
		      struct err *err)
{
	const struct stored_filter own = {.beginning = id, .user = user, .own_only = !user};
	const struct stored_filter begun = {.beginning = id};
	const struct stored_filter named = {.name = id, .user = user, .own_only = !user};
	struct str_list found cleanup_str_list = {0};

	if (scheduler_client_begins_id(id))
		job_stores_ids(stores, &own, &found);
	if (!user && scheduler_client_begins_id(id) && found.count == 0)
		job_stores_ids(stores, &begun, &found);
	if (found.count > 1) {
		scheduler_err_several(id, &found, err);
		return NULL;
	}
	if (found.count == 0)
		job_stores_ids(stores, &named, &found);
	if (found.count > 0)
		return mem_strdup(found.items[0]);
	err_set(err, ERR_NOT_FOUND, "no job \"%s\"%s%s in any history", id, user ? " of " : "",
		user ? user : "");
	return NULL;
}

/* ---- the copy ----------------------------------------------------------------------------- */

char *stored_jobs_copy(const char *id, struct err *err)
{
	char *state cleanup_free = state_dir_find(err);

	return state ? mem_printf("%s/kept/%s", state, id) : NULL;
}

static void sweep(const char *kept)
{
	struct err err cleanup_err = {0};

	if (removal_sweep(kept, false, &err) > 0)
		log_warning("%s", err_message(&err));
}

void stored_jobs_age(int64_t until_ms, struct removal *removal)
{
	char *kept cleanup_free = stored_jobs_copy("", NULL);
	DIR *directory cleanup_dir = kept ? opendir(kept) : NULL;
	const struct dirent *entry;

	if (directory && !removal->is_dry)
		sweep(kept);
	while (directory && (entry = readdir(directory))) {
		char *copy cleanup_free = fs_join(kept, entry->d_name);
		struct stat status;
		if (*entry->d_name != '.' && lstat(copy, &status) == 0 &&
		    fs_modified_ms(&status) <= until_ms)
			removal_remove_folder(removal, copy, NULL, NULL);
	}
}

static int copy_file(struct history_store *store, const struct history_record *record,
		     const char *name, const char *to, struct err *err)
{
	int64_t cap = job_stores_is_of(store, record, NULL) ? HISTORY_FILE_CAP : OTHERS_CAP;
	int from cleanup_close = history_store_open_file(store, record, name, cap, err);
	int target cleanup_close =
		from < 0 ? -1 : open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	char buffer[65536];
	ssize_t got;

	if (from < 0)
		return -1;
	if (target < 0)
		return err_set_errno(err, "%s", to);
	while ((got = read(from, buffer, sizeof(buffer))) > 0)
		if (fs_write_all(target, buffer, (size_t)got, err) < 0)
			return err_wrap(err, "%s", to);
	return got < 0 ? err_set_errno(err, "%s", record->path) : 0;
}

/* Says whose the job is, whatever the entry says. */
static int copy_description(struct history_store *store, const struct history_record *record,
			    const char *to, struct err *err)
{
	size_t length;
	char *text cleanup_free =
		history_store_read_file(store, record, HISTORY_JOB, JOB_JSON_CAP, &length, err);
	struct job *job = text ? job_from_text(text, length, err) : NULL;
	int result = -1;

	if (job && !str_equal(job->id, fs_basename(record->path))) {
		err_set(err, ERR_DENIED, "%s/%s: the job in it is another, %s",
			history_store_location(store), record->path, job->id);
	} else if (job) {
		mem_replace(&job->user, mem_strdup(record->user));
		if (!job_stores_is_of(store, record, NULL))
			job_stores_forget(job);
		char *written cleanup_free = job_to_text(job);
		result = fs_write_file(to, written, strlen(written), 0600, err);
	}
	job_destroy(job);
	return result;
}

/* Which record it is of, and what is known of that. The caller frees. */
static char *word_origin(const struct history_store *store, const struct history_record *record,
			 const char *doubt)
{
	return mem_printf("%s/%s\n%s\n%s\n%s\n", history_store_location(store), record->path,
			  record->user, record->owner ? record->owner : "", doubt ? doubt : "");
}

/* Another user's entry, or one of a bucket, may have been all there was when it was made. */
static bool is_copy_of(const char *directory, const char *origin)
{
	char *path cleanup_free = fs_join(directory, ORIGIN);
	char *noted cleanup_free = fs_read_file(path, ORIGIN_CAP, NULL, NULL);

	return str_equal(noted, origin);
}

/* If the journal is damaged, the error names the file in the history, and no copy is kept, so that
 * a repaired file is read anew. */
static int copy_journal(struct history_store *store, const struct history_record *record,
			const char *to, struct err *err)
{
	if (copy_file(store, record, HISTORY_EVENTS, to, err) < 0)
		return -1;
	if (journal_read(to, 1, NULL, NULL, err) == 0)
		return 0;
	char *shown cleanup_free =
		mem_printf("%s/%s/" HISTORY_EVENTS, history_store_location(store), record->path);
	return err_rename(err, to, shown);
}

/* Beside its place, and renamed: whoever finds it finds all of it. */
static int make_copy(struct history_store *store, const struct history_record *record,
		     const char *directory, const char *origin, struct err *err)
{
	char *side cleanup_free = mem_printf("%s.%d", directory, getpid());
	char *description cleanup_free = fs_join(side, "job.json");
	char *journal cleanup_free = fs_join(side, "journal.jsonl");
	char *noted cleanup_free = fs_join(side, ORIGIN);

	if (fs_make_directories(side, 0700, err) < 0)
		return -1;
	int result = copy_description(store, record, description, err);
	if (result == 0)
		result = copy_journal(store, record, journal, err);
	if (result == 0)
		result = fs_write_volatile(noted, origin, strlen(origin), 0600, err);
	if (result == 0 && rename(side, directory) < 0 && !fs_is_directory(directory))
		result = err_set_errno(err, "%s", directory);
	if (result < 0)
		fs_explain_room(side, err);
	fs_remove_tree(side, NULL);
	return result;
}

/* One of TonY's may run, or have lost its AM: nobody could be asked how it goes on. */
static int check_ended(struct history_store *store, const char *path, struct err *err)
{
	struct history_summary summary;
	struct err flaw cleanup_err = {0};

	if (history_store_summary(store, path, &summary, &flaw) < 0)
		return flaw.kind == ERR_DENIED ? err_copy(err, &flaw) : 0;
	bool has_ended = job_state_is_final(summary.state);
	history_summary_finish(&summary);
	return has_ended ? 0
			 : err_set(err, ERR_FAILED, "%s: its history does not tell its end",
				   fs_basename(path));
}

/* It was not found, because of `why`. */
static int fail(const struct job_stores *stores, const char *id, const struct err *why,
		struct err *err)
{
	if (why->kind != ERR_NOT_FOUND || stores->away.count == 0)
		return err_copy(err, why);
	return err_set(err, ERR_UNREACHABLE,
		       "no job \"%s\" is known here, and %s, which may have it, does not answer",
		       id, stores->away.items[0]);
}

static int find_record(const struct job_stores *stores, const char *id, const char *user,
		       struct history_store **store, struct history_record *record, char **whole,
		       struct err *err)
{
	bool is_found = scheduler_client_begins_id(id) &&
			find_entry(stores, id, user, store, record, NULL) == 0;

	if (is_found && job_stores_is_of(*store, record, user)) {
		*whole = mem_strdup(id);
		return 0;
	}
	/* Another user may have named an entry like the beginning of an id of this one's. */
	*whole = is_found ? complete_own(stores, id) : complete(stores, id, user, err);
	if (is_found && !*whole)
		*whole = mem_strdup(id);
	history_record_finish(record);
	return *whole ? find_entry(stores, *whole, user, store, record, err) : -1;
}

static int copy(struct history_store *store, const struct history_record *record, const char *doubt,
		const char *directory, struct err *err)
{
	char *origin cleanup_free = word_origin(store, record, doubt);
	struct removal unseen cleanup_removal = {0};

	stored_jobs_age(clock_wall_ms() - COPY_MS, &unseen); /* nobody looks at a job for ever */
	if (check_ended(store, record->path, err) < 0)
		return -1;
	if (is_copy_of(directory, origin))
		return 0;
	return removal_remove_folder(&unseen, directory, NULL, err) < 0
		       ? -1
		       : make_copy(store, record, directory, origin, err);
}

int stored_jobs_find(const char *id, const char *user, struct job_door *door, char **full_id,
		     struct err *err)
{
	struct job_stores stores cleanup_job_stores = {0};
	struct history_record record cleanup_history_record = {0};
	struct history_store *store;
	char *whole cleanup_free = NULL;
	struct err why cleanup_err = {0};

	if (job_stores_open_within(NULL, PATIENCE_MS, &stores, err) < 0)
		return -1;
	if (find_record(&stores, id, user, &store, &record, &whole, &why) < 0)
		return fail(&stores, id, &why, err);
	char *directory cleanup_free = stored_jobs_copy(whole, err);
	char *doubt cleanup_free = job_stores_doubt(store, &record);
	if (!directory || copy(store, &record, doubt, directory, err) < 0)
		return -1;
	*door = (struct job_door){.job_dir = mem_steal(&directory),
				  .is_others = !job_stores_is_of(store, &record, NULL),
				  .doubt = mem_steal(&doubt),
				  .ended = true};
	if (door->doubt || door->is_others)
		door->user = mem_strdup(record.user);
	if (full_id)
		*full_id = mem_steal(&whole);
	return 0;
}

static int find(const char *id, struct job_door *door, char **full_id, struct err *err)
{
	return stored_jobs_find(id, NULL, door, full_id, err);
}

/* ---- logs --------------------------------------------------------------------------------- */

static void release_stores(void *data)
{
	job_stores_close(data);
	free(data);
}

static struct job_logs *open_logs(const struct job_door *door, const struct job *job,
				  struct err *err)
{
	struct job_stores *stores = mem_alloc(sizeof(*stores));
	struct history_record record cleanup_history_record = {0};
	struct history_store *store;

	if (job_stores_open(NULL, stores, err) == 0 &&
	    find_entry(stores, fs_basename(door->job_dir), door->user, &store, &record, err) == 0)
		return history_logs(store, &record, release_stores, stores);
	release_stores(stores);
	return NULL;
}

/* No engine: what a history has of jobs, for whoever looks at one. */
static const struct scheduler_traits history_traits = {.name = "history", .is_history = true};

const struct scheduler_client_ops stored_jobs_client = {
	.traits = &history_traits,
	.find = find,
	.logs = open_logs,
};
