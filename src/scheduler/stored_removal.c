/* Removing what stores have of one job of this user's. */
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/user.h"
#include "history/layout.h"
#include "scheduler/job_stores.h"
#include "scheduler/yarn_client.h"

/* Nothing is wrong but with the file itself. */
static bool is_missing(const struct err *err)
{
	return err->kind == ERR_NOT_FOUND || err->kind == ERR_INPUT;
}

/* Whose an entry is, and how large. In a bucket an entry without a summary is whose its job.json
 * says; without that it is this user's, who may remove it. The caller frees; NULL: `err`. */
static char *user_of(struct history_store *store, const char *path, const char *own, int64_t *bytes,
		     struct err *err)
{
	struct history_summary summary;
	struct err why cleanup_err = {0};
	char *user = NULL;

	if (history_store_summary(store, path, &summary, &why) == 0) {
		user = mem_strdup(summary.user);
		*bytes = summary.bytes;
		history_summary_finish(&summary);
		return user;
	}
	if (history_store_has_owners(store))
		return history_store_owner(store, path, err);
	if (is_missing(&why))
		user = history_store_part_user(store, path, &why);
	if (!user && is_missing(&why))
		user = mem_strdup(own);
	if (!user)
		err_copy(err, &why);
	return user;
}

/* Jobs are submitted under $USER, which may be another name of the same user. */
static bool is_own(struct history_store *store, const char *path, const char *user, const char *own)
{
	char *told cleanup_free = user_name();
	char *owner cleanup_free =
		str_equal(user, told) ? history_store_owner(store, path, NULL) : NULL;

	return str_equal(user, own) || str_equal(owner, own) ||
	       (!history_store_has_owners(store) && str_equal(user, told));
}

static void spare_remote(struct history_store *store, const char *path, struct removal *removal)
{
	struct history_record record cleanup_history_record = {0};
	size_t length = 0;
	char *text cleanup_free = history_store_record(store, path, NULL, &record, NULL) == 0
					  ? history_store_read_file(store, &record, HISTORY_JOB,
								    JOB_JSON_CAP, &length, NULL)
					  : NULL;
	struct job *job = text ? job_from_text(text, length, NULL) : NULL;

	if (job)
		removal_spare_remote(removal, job);
	job_destroy(job);
}

static int remove_entry(struct history_store *store, const char *path, struct removal *removal,
			struct err *err)
{
	char *own cleanup_free = job_stores_own_name(store, err);
	int64_t bytes = 0;
	char *user cleanup_free = own ? user_of(store, path, own, &bytes, err) : NULL;
	char *shown cleanup_free = mem_printf("%s/%s", history_store_location(store), path);

	if (!user)
		return -1;
	if (!is_own(store, path, user, own)) {
		str_list_add_format(&removal->stays, "%s: it is %s's", shown, user);
		return 0;
	}
	spare_remote(store, path, removal);
	if (!removal->is_dry && history_store_remove(store, path, err) < 0)
		return -1;
	removal->bytes += bytes;
	str_list_add(&removal->removed, shown);
	return 0;
}

/* A publication that was killed has left it. */
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
		return remove_entry(store, path, removal, err);
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
		return remove_entry(store, record.path, removal, err);
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
	if (!history_is_name(id))
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
