#include "scheduler/fetch.h"

#include "scheduler/job_stores.h"
#include "scheduler/yarn_cache.h"
#include "store/location.h"
#include "store/store.h"

bool fetch_is_needed(const char *place)
{
	struct store_location location cleanup_store_location = {0};

	return store_location_parse(place, &location, NULL) == 0 &&
	       store_location_is_remote(&location);
}

int fetch_tree(const struct job *job, const char *url, const char *target, struct err *err)
{
	struct store *store = job_stores_open_place(job, url, err);
	int result = store ? store_fetch(store, "", target, NULL, NULL, err) : -1;

	store_close(store);
	return result;
}

static void on_entry(void *data, const struct store_item *item)
{
	bool *is_there = data;

	*is_there = true;
}

/* An object has no time of use to be noted, and a folder of a bucket is what is in it. */
static int find_objects(struct store *store, struct err *err)
{
	bool is_there = false;

	if (store_run(store, store_list("", NULL, on_entry, &is_there), err) < 0)
		return -1;
	return is_there
		       ? 0
		       : err_set(err, ERR_NOT_FOUND, "%s: nothing is there", store_location(store));
}

int fetch_keep(const struct job *job, const char *url, struct err *err)
{
	struct store *store = job_stores_open_place(job, url, err);
	struct store_item item cleanup_store_item = {0};
	int result = -1;

	if (store)
		result = store_traits(store)->holds_objects ? find_objects(store, err)
							    : yarn_cache_use(store, "", &item, err);
	store_close(store);
	return result;
}

int fetch_text(const char *url, size_t cap, struct str *bytes, struct err *err)
{
	struct store *store = job_stores_open_place(NULL, url, err);
	int result = store ? store_read_bytes(store, "", (int64_t)cap, bytes, err) : -1;

	store_close(store);
	return result;
}

static int measure_place(struct store *store, struct fetch_measure *measure, struct err *err)
{
	struct store_item item cleanup_store_item = {0};
	struct store_measure all = {0};
	bool has_objects = store_traits(store)->holds_objects;

	if ((has_objects ? find_objects(store, err) : store_look(store, "", &item, err)) < 0)
		return -1;
	*measure = (struct fetch_measure){item.length, item.modified_ms};
	if (!has_objects && !item.is_directory)
		return 0;
	if (store_measure(store, "", &all, err) < 0)
		return -1;
	*measure = (struct fetch_measure){all.bytes, all.newest_ms};
	return 0;
}

int fetch_measure(const struct job *job, const char *url, struct fetch_measure *measure,
		  struct err *err)
{
	struct store *store = job_stores_open_place(job, url, err);
	int result = store ? measure_place(store, measure, err) : -1;

	store_close(store);
	return result;
}
