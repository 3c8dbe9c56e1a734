/* A directory of a store: is it a job's, or has a killed publication left it in a bucket, where
 * nothing is renamed? */
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "history/store_internal.h"
#include "job/job.h"

struct marks {
	bool is_job, is_foreign; /* TonY's */
	size_t own, others;	 /* entries that a history of tony's has, and any others */
};

static void on_mark(void *data, const struct store_item *item)
{
	static const char *const names[] = {HISTORY_JOB,     HISTORY_CONFIG, HISTORY_EVENTS,
					    HISTORY_METRICS, HISTORY_DIFF,   HISTORY_LOGS,
					    HISTORY_SWEEP};
	struct marks *marks = data;
	bool is_own = false;

	marks->is_foreign |= !item->is_directory && strstr(item->name, ".jhist");
	marks->is_job |= marks->is_foreign ||
			 (!item->is_directory && str_equal(item->name, HISTORY_SUMMARY));
	for (size_t i = 0; i < array_length(names); i++)
		is_own |= str_equal(names[i], item->name);
	marks->own += is_own;
	marks->others += !is_own;
}

int store_entry_look(struct history_store *store, const char *path, enum store_entry *entry,
		     struct err *err)
{
	struct err why cleanup_err = {0};
	struct marks marks = {0};

	*entry = STORE_ENTRY_NONE;
	if (store_run(store->files, store_list(path, NULL, on_mark, &marks), &why) < 0) {
		/* Another user's, where directories have owners. */
		bool is_others = why.kind == ERR_DENIED && history_store_has_owners(store);
		return why.kind == ERR_NOT_FOUND || is_others ? 0 : err_copy(err, &why);
	}
	if (marks.is_job)
		*entry = STORE_ENTRY_JOB;
	else if (marks.own > 0 && marks.others == 0)
		*entry = STORE_ENTRY_PART;
	return 0;
}

bool store_entry_is_proven(struct history_store *store, const char *path)
{
	struct history_summary summary cleanup_history_summary = {0};
	struct marks marks = {0};
	size_t length;
	char *text cleanup_free = store_read_file(store, path, HISTORY_SUMMARY, HISTORY_SUMMARY_CAP,
						  &length, NULL, NULL);

	if (text && history_summary_from_text(text, length, &summary, NULL) == 0)
		return true;
	return store_run(store->files, store_list(path, NULL, on_mark, &marks), NULL) == 0 &&
	       (marks.is_foreign || (marks.is_job && marks.own > 0));
}

int history_store_is_left(struct history_store *store, const char *path, int64_t now_ms,
			  struct err *err)
{
	struct store_measure measure;

	return store_measure(store->files, path, &measure, err) < 0
		       ? -1
		       : measure.newest_ms <= now_ms - HISTORY_PART_MS;
}

char *history_store_part_user(struct history_store *store, const char *path, struct err *err)
{
	size_t length;
	char *text cleanup_free =
		store_read_file(store, path, HISTORY_JOB, JOB_JSON_CAP, &length, NULL, err);
	json_t *job cleanup_json = text ? json_parse(text, length, err) : NULL;
	const char *user = json_string_value(json_object_get(job, "user"));

	if (job && !user)
		err_set(err, ERR_INPUT, "%s/" HISTORY_JOB ": it names no user", path);
	return user ? mem_strdup(user) : NULL;
}
