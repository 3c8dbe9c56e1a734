#include "scheduler/fetch.h"

#include "scheduler/job_stores.h"
#include "scheduler/yarn_cache.h"

int fetch_tree(const struct job *job, const char *url, const char *target, struct err *err)
{
	struct store *store = job_stores_open_place(job, url, err);
	int result = store ? store_fetch(store, "", target, NULL, NULL, err) : -1;

	store_close(store);
	return result;
}

int fetch_keep(const struct job *job, const char *url, struct err *err)
{
	struct store *store = job_stores_open_place(job, url, err);
	struct store_item item cleanup_store_item = {0};
	int result = store ? yarn_cache_use(store, "", &item, err) : -1;

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
