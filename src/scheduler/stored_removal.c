/* Removing what stores have of one job of this user's. */
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "history/layout.h"
#include "scheduler/job_stores.h"

static void spare_remote(struct history_store *store, const struct history_record *record,
			 struct removal *removal)
{
	size_t length;
	char *text cleanup_free =
		history_store_read_file(store, record, HISTORY_JOB, JOB_JSON_CAP, &length, NULL);
	struct job *job = text ? job_from_text(text, length, NULL) : NULL;

	if (job)
		removal_spare_remote(removal, job);
	job_destroy(job);
}

static int remove_entry(struct history_store *store, const struct history_record *record,
			struct removal *removal, struct err *err)
{
	char *shown cleanup_free = mem_printf("%s/%s", history_store_location(store), record->path);
	struct history_summary summary cleanup_history_summary = {0};

	if (!job_stores_is_of(store, record, NULL)) {
		str_list_add_format(&removal->stays, "%s: it is %s's", shown, record->user);
		return 0;
	}
	spare_remote(store, record, removal);
	if (history_store_summary(store, record->path, &summary, NULL) == 0)
		removal->bytes += summary.bytes;
	if ((removal->is_dry ? history_store_check_whole(store, record->path, record->owner, err)
			     : history_store_remove(store, record->path, record->owner, err)) != 0)
		return -1;
	str_list_add(&removal->removed, shown);
	return 0;
}

/* A publication that was killed has left it, in a bucket. It is whose its job.json says; without
 * that it is this user's, who may remove it. */
static int remove_left(struct history_store *store, char *path, struct removal *removal,
		       struct err *err)
{
	struct err why cleanup_err = {0};
	char *told cleanup_free = history_store_part_user(store, path, &why);
	const struct history_record record = {
		.path = path, .user = told ? told : (char *)history_store_me(store)};

	if (!told && why.kind != ERR_NOT_FOUND && why.kind != ERR_INPUT)
		return err_copy(err, &why);
	return remove_entry(store, &record, removal, err);
}

static int remove_part(struct history_store *store, const char *id, struct removal *removal,
		       struct err *err)
{
	struct history_days days;
	struct err why cleanup_err = {0};
	bool is_known = scheduler_client_of_id(id, &days);
	char *path cleanup_free = history_store_find_part(store, id, is_known ? &days : NULL, &why);

	if (!path)
		return why.kind == ERR_NOT_FOUND ? 0 : err_copy(err, &why);
	int is_left = history_store_is_left(store, path, clock_wall_ms(), err);
	if (is_left > 0)
		return remove_left(store, path, removal, err);
	if (is_left == 0)
		str_list_add_format(&removal->stays,
				    "%s/%s: may still be in publication; tony rm removes it in an "
				    "hour",
				    history_store_location(store), path);
	return is_left;
}

static int remove_from(struct history_store *store, const char *id, struct removal *removal,
		       struct err *err)
{
	struct err missing cleanup_err = {0};
	struct history_record record cleanup_history_record = {0};

	if (stored_job_find(store, id, NULL, &record, &missing) == 0)
		return remove_entry(store, &record, removal, err);
	return missing.kind == ERR_NOT_FOUND ? remove_part(store, id, removal, err)
					     : err_copy(err, &missing);
}

static int remove_copy(const char *id, struct removal *removal, struct err *err)
{
	char *copy cleanup_free = stored_jobs_copy(id, err);

	return copy ? removal_remove_folder(removal, copy, NULL, err) : -1;
}

int job_stores_remove(const struct job_stores *stores, const char *id, struct removal *removal,
		      struct err *err)
{
	if (!history_is_id(id))
		return 0;
	for (size_t i = 0; i < stores->count; i++)
		if (remove_from(stores->items[i], id, removal, err) < 0)
			return -1;
	for (size_t i = 0; i < stores->away.count; i++)
		str_list_add_format(&removal->stays,
				    "%s/.../%s, if it is there: its server does not answer",
				    stores->away.items[i], id);
	return remove_copy(id, removal, err);
}
