/* A directory of a store: is it a job's, or has a killed publication left it in a bucket, where
 * nothing is renamed? */
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "history/store_internal.h"
#include "job/job.h"

#define DEPTH_CAP 8 /* directories within a job's */

/* ---- size and age ------------------------------------------------------------------------- */

struct measuring {
	struct history_store *store;
	const char *path;
	int depth;
	struct store_measure *measure;
};

static void measure_below(const struct measuring *measuring);

static void on_member(void *data, const struct store_item *item)
{
	const struct measuring *measuring = data;
	struct store_measure *measure = measuring->measure;

	if (item->modified_ms > measure->newest_ms)
		measure->newest_ms = item->modified_ms;
	measure->bytes += item->is_directory ? 0 : item->length;
	if (!item->is_directory || measuring->depth == DEPTH_CAP)
		return;
	char *path cleanup_free = mem_printf("%s/%s", measuring->path, item->name);
	measure_below(&(struct measuring){measuring->store, path, measuring->depth + 1, measure});
}

static void measure_below(const struct measuring *measuring)
{
	store_run(measuring->store->files,
		  store_list(measuring->path, NULL, on_member, (void *)measuring), NULL);
}

struct store_measure store_measure(struct history_store *store, const char *path)
{
	struct store_measure measure = {0};

	measure_below(&(struct measuring){store, path, 0, &measure});
	return measure;
}

/* ---- what is there ------------------------------------------------------------------------ */

struct marks {
	bool is_job;
	size_t own, others; /* entries that a history of tony's has, and any others */
};

static void on_mark(void *data, const struct store_item *item)
{
	static const char *const names[] = {HISTORY_JOB,     HISTORY_CONFIG, HISTORY_EVENTS,
					    HISTORY_METRICS, HISTORY_DIFF,   HISTORY_LOGS};
	struct marks *marks = data;
	bool is_own = false;

	marks->is_job |= !item->is_directory &&
			 (str_equal(item->name, HISTORY_SUMMARY) || strstr(item->name, ".jhist"));
	for (size_t i = 0; i < array_length(names); i++)
		is_own |= str_equal(names[i], item->name);
	marks->own += is_own;
	marks->others += !is_own;
}

static struct marks marks_of(struct history_store *store, const char *path)
{
	struct marks marks = {0};

	store_run(store->files, store_list(path, NULL, on_mark, &marks), NULL);
	return marks;
}

bool store_is_job(struct history_store *store, const char *path)
{
	return marks_of(store, path).is_job;
}

bool history_store_is_part(struct history_store *store, const char *path)
{
	if (history_store_has_owners(store))
		return false;
	struct marks marks = marks_of(store, path);
	return !marks.is_job && marks.own > 0 && marks.others == 0;
}

bool history_store_is_left(struct history_store *store, const char *path, int64_t now_ms)
{
	return store_measure(store, path).newest_ms <= now_ms - HISTORY_PART_MS;
}

char *history_store_part_user(struct history_store *store, const char *path)
{
	size_t length;
	char *text cleanup_free =
		store_read_file(store, path, HISTORY_JOB, JOB_JSON_CAP, &length, NULL);
	json_t *job cleanup_json = text ? json_parse(text, length, NULL) : NULL;

	return mem_strdup(json_string_value(json_object_get(job, "user")));
}
