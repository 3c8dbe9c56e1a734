#include "scheduler/yarn_cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/random.h"
#include "job/job.h"
#include "scheduler/yarn_client.h"

#define NOTE_EVERY_MS 3600000  /* a use is not noted again before */
#define MIN_AGE_MS    86400000 /* longer than any submission takes */

static int64_t last_use_ms(const struct store_item *file)
{
	return file->accessed_ms > file->modified_ms ? file->accessed_ms : file->modified_ms;
}

int yarn_cache_use(struct store *store, const char *path, struct store_item *file, struct err *err)
{
	struct err problem cleanup_err = {0};
	int64_t now = clock_wall_ms();

	if (store_look(store, path, file, err) < 0)
		return -1;
	if (now - last_use_ms(file) < NOTE_EVERY_MS ||
	    store_run(store, store_set_accessed(path, now), &problem) == 0 ||
	    problem.kind != ERR_NOT_FOUND)
		return 0; /* a NameNode may be told to keep no access times */
	/* It was removed this moment. */
	store_item_finish(file);
	return err_set(err, ERR_NOT_FOUND, "%s", err_message(&problem));
}

char *yarn_cache_part(const char *name)
{
	return mem_printf(YARN_CACHE "/.%s.%016llx.part", name, (unsigned long long)random_u64());
}

/* ---- what lives --------------------------------------------------------------------------- */

struct ageing {
	struct store *own;
	int64_t oldest_ms; /* what was used since then stays */
	struct removal *removal;
	struct str_list old, jobs;
	struct map *used; /* names in the cache that live jobs have */
};

static void add_old(void *data, const struct store_item *file)
{
	struct ageing *ageing = data;

	if (!file->is_directory && last_use_ms(file) < ageing->oldest_ms)
		str_list_add(&ageing->old, file->name);
}

static void add_job(void *data, const struct store_item *file)
{
	if (file->is_directory && yarn_is_id(file->name))
		str_list_add(data, file->name);
}

static void note_files(struct ageing *ageing, const struct hadoop_cluster *job)
{
	for (size_t i = 0; i < job->file_count; i++)
		map_set(ageing->used, fs_basename(job->files[i].url), ageing);
}

/* -1: it cannot be told what the job uses. One that has no description yet was submitted this
 * moment, and one that has none any more has ended. */
static int note_job(struct ageing *ageing, const char *id, struct err *err)
{
	char *path cleanup_free = fs_join(id, "job.json");
	struct str text cleanup_str = {0};
	struct err missing cleanup_err = {0};

	if (store_read_bytes(ageing->own, path, JOB_JSON_CAP, &text, &missing) < 0)
		return missing.kind == ERR_NOT_FOUND ? 0 : err_copy(err, &missing);
	struct job *job = job_from_text(str_text(&text), text.length, NULL);
	struct hadoop_cluster *cluster cleanup_hadoop_cluster =
		job ? hadoop_cluster_from_json(job->engine, job->stores, NULL) : NULL;
	job_destroy(job);
	if (!cluster)
		return err_set(err, ERR_USAGE, "%s/%s does not say yet what its job uses",
			       store_location(ageing->own), path);
	note_files(ageing, cluster);
	return 0;
}

/* Every job that has not ended has a directory of its own. */
static int note_jobs(struct ageing *ageing, struct err *err)
{
	if (store_run(ageing->own, store_list("", NULL, add_job, &ageing->jobs), err) < 0)
		return -1;
	for (size_t i = 0; i < ageing->jobs.count; i++)
		if (note_job(ageing, ageing->jobs.items[i], err) < 0)
			return -1;
	return 0;
}

/* ---- what does not ------------------------------------------------------------------------ */

/* Under another name nobody begins to use it. Who did before, a moment ago, has noted that. */
static void remove_unused(const struct ageing *ageing, const char *name)
{
	struct store_item file cleanup_store_item = {0};
	struct store *own = ageing->own;

	char *path cleanup_free = fs_join(YARN_CACHE, name);
	char *aside cleanup_free = yarn_cache_part(name);
	if (store_run(own, store_rename_keeping(path, aside), NULL) < 0)
		return;
	bool is_unused =
		store_look(own, aside, &file, NULL) == 0 && last_use_ms(&file) < ageing->oldest_ms;
	/* Where it was there may be another one by now: the content is the same. */
	if ((is_unused || store_run(own, store_rename_keeping(aside, path), NULL) < 0) &&
	    store_run(own, store_remove(aside), NULL) == 0)
		ageing->removal->bytes += file.length;
}

static void tell_unused(const struct ageing *ageing, const char *name)
{
	struct store_item file cleanup_store_item = {0};
	char *path cleanup_free = fs_join(YARN_CACHE, name);

	if (store_look(ageing->own, path, &file, NULL) == 0)
		ageing->removal->bytes += file.length;
}

static void remove_all(const struct ageing *ageing, size_t most)
{
	size_t removed = 0;

	for (size_t i = 0; i < ageing->old.count && (most == 0 || removed < most); i++) {
		const char *name = ageing->old.items[i];
		if (map_get(ageing->used, name))
			continue;
		if (ageing->removal->is_dry)
			tell_unused(ageing, name);
		else
			remove_unused(ageing, name);
		removed++;
	}
}

/* Nothing was ever sent, or all of it could be listed. */
static int find_old(struct ageing *ageing, struct err *err)
{
	struct err missing cleanup_err = {0};

	if (store_run(ageing->own, store_list(YARN_CACHE, NULL, add_old, ageing), &missing) == 0 ||
	    missing.kind == ERR_NOT_FOUND)
		return 0;
	return err_copy(err, &missing);
}

int yarn_cache_age(struct store *own, int64_t max_age_ms, size_t most, struct removal *removal,
		   struct err *err)
{
	int64_t age_ms = max_age_ms > MIN_AGE_MS ? max_age_ms : MIN_AGE_MS;
	struct ageing ageing = {.own = own,
				.oldest_ms = clock_wall_ms() - age_ms,
				.removal = removal,
				.used = map_create(NULL)};

	int result = find_old(&ageing, err);
	if (result == 0 && ageing.old.count > 0)
		result = note_jobs(&ageing, err);
	if (result == 0)
		remove_all(&ageing, most);
	str_list_finish(&ageing.old);
	str_list_finish(&ageing.jobs);
	map_destroy(ageing.used);
	return result;
}

int yarn_age_cache(int64_t max_age_ms, struct removal *removal, struct err *err)
{
	struct hadoop_cluster *cluster cleanup_hadoop_cluster = yarn_cluster_find(NULL, err);
	struct store *own cleanup_yarn_store = cluster ? yarn_store_own(cluster, err) : NULL;

	return own ? yarn_cache_age(own, max_age_ms, 0, removal, err) : -1;
}
