#include "scheduler/local_jobs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "scheduler/local_job.h"
#include "scheduler/state_dir.h"

/* ---- all jobs, newest first --------------------------------------------------------------- */

struct place {
	char *id;
	char *dir;
	struct timespec made;
};

struct places {
	struct place *items;
	size_t count;
};

static void places_finish(struct places *places)
{
	for (size_t i = 0; i < places->count; i++) {
		free(places->items[i].id);
		free(places->items[i].dir);
	}
	free(places->items);
}
#define cleanup_places __attribute__((cleanup(places_finish)))

static int newest_first(const void *left, const void *right)
{
	const struct place *a = left, *b = right;

	if (a->made.tv_sec != b->made.tv_sec)
		return a->made.tv_sec < b->made.tv_sec ? 1 : -1;
	if (a->made.tv_nsec != b->made.tv_nsec)
		return a->made.tv_nsec < b->made.tv_nsec ? 1 : -1;
	return strcmp(b->id, a->id);
}

/* A directory is a job's once job.json is in it. */
static void consider(struct places *places, const char *jobs, const char *name)
{
	char *description cleanup_free = mem_printf("%s/%s/job.json", jobs, name);
	struct stat status;

	if (!state_dir_is_job_id(name) || stat(description, &status) < 0)
		return;
	places->items = mem_realloc_array(places->items, places->count + 1, sizeof(*places->items));
	places->items[places->count++] = (struct place){
		.id = mem_strdup(name), .dir = fs_join(jobs, name), .made = status.st_mtim};
}

/* `id` NULL: all. A whole id needs no look at the other jobs. */
static int find_places(struct places *places, const char *id, struct err *err)
{
	char *state cleanup_free = state_dir_find(err);
	char *jobs cleanup_free = state ? state_dir_jobs(state) : NULL;
	if (!jobs)
		return -1;
	if (id)
		consider(places, jobs, id);
	if (places->count > 0)
		return 0;
	DIR *directory cleanup_dir = opendir(jobs);
	const struct dirent *entry;
	if (!directory)
		return errno == ENOENT ? 0 : err_set_errno(err, "%s", jobs);
	while ((entry = readdir(directory)))
		consider(places, jobs, entry->d_name);
	if (places->count > 1)
		qsort(places->items, places->count, sizeof(*places->items), newest_first);
	return 0;
}

/* Reads a job; one whose AM is gone has ended by then. */
static int read_settled(const char *job_dir, struct job **job, struct job_view **view,
			struct err *err)
{
	if (local_job_read(job_dir, job, view, err) < 0)
		return -1;
	if (!local_job_settle(job_dir, *view))
		return 0;
	job_view_destroy(*view);
	job_destroy(*job);
	return local_job_read(job_dir, job, view, err);
}

/* ---- list --------------------------------------------------------------------------------- */

static void summarize(const struct job *job, const struct job_view *view,
		      struct job_summary *summary)
{
	*summary = (struct job_summary){
		.id = mem_strdup(job->id),
		.name = mem_strdup(job->name),
		.user = mem_strdup(job->user),
		.framework = mem_strdup(job->framework),
		.scheduler = mem_strdup("local"),
		.queue = mem_strdup(job->queue),
		.task_count = (int64_t)view->task_count,
		.state = view->state,
		.submitted_ms = job->submitted_ms,
		.ended_ms = view->ended_ms,
		.message = mem_strdup(view->message),
	};
	for (size_t i = 0; i < job->tags.count; i++)
		str_list_add(&summary->tags, job->tags.items[i]);
}

int local_jobs_list(int64_t ended_since_ms, struct job_summary **jobs, size_t *count,
		    struct err *err)
{
	struct places places cleanup_places = {0};

	if (find_places(&places, NULL, err) < 0)
		return -1;
	*jobs = mem_alloc_array(places.count, sizeof(**jobs));
	*count = 0;
	for (size_t i = 0; i < places.count; i++) {
		struct err flaw cleanup_err = {0};
		struct job_view *view;
		struct job *job;
		const char *dir = places.items[i].dir;
		if (local_job_ended_before(dir, ended_since_ms))
			continue;
		if (local_job_read_end(dir, &job, &view) < 0 &&
		    read_settled(dir, &job, &view, &flaw) < 0) {
			if (local_job_is_there(dir))
				log_warning("%s is passed over: %s", places.items[i].id,
					    err_message(&flaw));
			continue;
		}
		summarize(job, view, &(*jobs)[(*count)++]);
		job_view_destroy(view);
		job_destroy(job);
	}
	return 0;
}

/* ---- find --------------------------------------------------------------------------------- */

bool local_jobs_is_id(const char *id)
{
	static const char form[] = "tony-00000000-000000-xxxxxxxx";
	size_t i = 0;

	for (; form[i] && id[i]; i++) {
		bool fits = form[i] == '0'   ? isdigit((unsigned char)id[i])
			    : form[i] == 'x' ? isxdigit((unsigned char)id[i])
					     : form[i] == id[i];
		if (!fits)
			return false;
	}
	return form[i] == id[i];
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
	char *own cleanup_free = local_job_name(place->dir);

	return str_equal(own, name);
}

static bool is_live(const char *job_dir)
{
	enum local_life life =
		local_job_is_idle(job_dir) ? LOCAL_GONE : local_job_life(job_dir, NULL);

	return life == LOCAL_LIVE || life == LOCAL_STARTING;
}

/* By the beginning of an id: how many have it, the first of them, and, when there are several, an
 * error that names them. */
static size_t match_beginning(const struct places *places, const char *id, size_t *found,
			      struct err *err)
{
	struct str_list ids cleanup_str_list = {0};

	for (size_t i = 0; i < places->count; i++) {
		if (!str_starts_with(places->items[i].id, id))
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
		if (is_live(places->items[i].dir))
			return true;
	}
	*found = newest;
	return newest < places->count;
}

static int choose(const struct places *places, const char *id, size_t *found, struct err *err)
{
	if (places->count == 0 && !id)
		return err_set(err, ERR_NOT_FOUND, "there is no job yet");
	if (!id || has_exact(places, id, found))
		return 0;
	size_t count = *id ? match_beginning(places, id, found, err) : 0;
	if (count == 1 || (count == 0 && match_name(places, id, found)))
		return 0;
	return count > 1 ? -1
			 : err_set(err, ERR_NOT_FOUND,
				   "no job \"%s\"; `tony list` shows those there are", id);
}

static int open_door(const struct place *place, struct job_door *door, struct err *err)
{
	char *token cleanup_free = fs_join(place->dir, "token");
	struct job_door found = {0};
	struct stat status;
	struct job_view *view;
	struct job *job;

	if (read_settled(place->dir, &job, &view, err) < 0)
		return -1;
	found.ended = view->is_final;
	job_view_destroy(view);
	job_destroy(job);
	if (stat(token, &status) < 0)
		return err_set_errno(err, "%s", token);
	found.token = job_read_token(token, err);
	if (!found.token)
		return -1;
	found.owner = status.st_uid;
	found.job_dir = mem_strdup(place->dir);
	if (!found.ended)
		local_job_life(place->dir, &found.address);
	*door = found;
	return 0;
}

int local_jobs_find(const char *id, struct job_door *door, char **full_id, struct err *err)
{
	struct places places cleanup_places = {0};
	size_t found = 0;

	if (find_places(&places, id, err) < 0 || choose(&places, id, &found, err) < 0 ||
	    open_door(&places.items[found], door, err) < 0)
		return -1;
	if (full_id)
		*full_id = mem_strdup(places.items[found].id);
	return 0;
}
