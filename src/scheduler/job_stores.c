#include "scheduler/job_stores.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "conf/conf.h"
#include "hadoop/site.h"
#include "hadoop/webhdfs_client.h"
#include "net/url.h"
#include "scheduler/state_dir.h"
#include "scheduler/yarn_client.h"
#include "scheduler/yarn_store.h"
#include "store/access.h"
#include "store/location.h"
#include "store/store.h"

enum { SUBMIT_WAIT_MS = 3000 }; /* for a bucket's server to answer, while a user waits */

void job_stores_close(struct job_stores *stores)
{
	for (size_t i = 0; i < stores->count; i++)
		history_store_close(stores->items[i]);
	free(stores->items);
	str_list_finish(&stores->away);
	*stores = (struct job_stores){0};
}

/* A directory of TonY's jobs that is not in the history's location. */
struct away {
	enum history_tree tree;
	const char *name; /* of the directory, in the store's */
};

/* Each once. `away` NULL: all of the trees of a store. */
static int add(struct job_stores *stores, const char *location, const struct store_access *access,
	       const struct away *away, struct err *err)
{
	for (size_t i = 0; i < stores->count; i++) {
		if (!str_equal(history_store_location(stores->items[i]), location))
			continue;
		if (away)
			history_store_add_tree(stores->items[i], away->tree, away->name);
		return 0;
	}
	struct history_store *store = history_store_open(location, access, err);
	if (!store)
		return -1;
	if (away) {
		history_store_clear_trees(store);
		history_store_add_tree(store, away->tree, away->name);
	}
	stores->items =
		mem_realloc_array(stores->items, stores->count + 1, sizeof(struct history_store *));
	stores->items[stores->count++] = store;
	return 0;
}

/* ---- in HDFS ------------------------------------------------------------------------------ */

/* The URL behind a name that users give. NULL: `err`: no site file tells how to reach it. The
 * caller frees. */
static char *resolve(const struct hadoop_cluster *cluster, const char *url, struct err *err)
{
	char *found =
		hadoop_cluster_has_hdfs(cluster) ? hdfs_access_resolve(&cluster->hdfs, url) : NULL;

	if (!found)
		err_set(err, ERR_CONFIG,
			"%s is not in the file system of the Hadoop configuration, %s", url,
			hadoop_cluster_fs_name(cluster));
	return found;
}

/* `url` NULL: the user's own place. */
static int add_of_cluster(struct job_stores *stores, const struct hadoop_cluster *cluster,
			  const char *url, const struct away *away, struct err *err)
{
	const struct store_access access = {hadoop_cluster_has_hdfs(cluster), cluster->hdfs};
	char *found cleanup_free =
		url ? resolve(cluster, url, err) : yarn_user_url(cluster, "history");

	return found ? add(stores, found, &access, away, err) : -1;
}

static int add_hdfs(struct job_stores *stores, const char *url, const struct away *away,
		    struct err *err)
{
	struct hadoop_cluster *cluster cleanup_hadoop_cluster = yarn_cluster_find(NULL, err);

	return cluster ? add_of_cluster(stores, cluster, url, away, err) : -1;
}

/* `path` NULL: the user's own place; else one of the file system that the cluster's jobs are in. A
 * path in directories that all nodes see is one of this machine: it is there already. */
static int add_path(struct job_stores *stores, const char *path, const struct away *away,
		    struct err *err)
{
	struct hadoop_cluster *cluster cleanup_hadoop_cluster = yarn_cluster_find(NULL, err);
	char *url cleanup_free = path ? mem_printf(HDFS_SCHEME "%s", path) : NULL;

	if (!cluster)
		return -1;
	return path && cluster->fs ? 0 : add_of_cluster(stores, cluster, url, away, err);
}

static void add_cluster_if_there(struct job_stores *stores, const char *path,
				 const struct away *away)
{
	struct err err cleanup_err = {0};

	if (hadoop_site_has_yarn() && add_path(stores, path, away, &err) < 0)
		log_warning("jobs of the cluster are not looked at: %s", err_message(&err));
}

/* ---- in S3 -------------------------------------------------------------------------------- */

static int add_s3(struct job_stores *stores, const struct conf *site,
		  const struct store_location *place, const char *path, const struct away *away,
		  struct err *err)
{
	struct store_access access cleanup_store_access = {.has_s3 = true};
	char *url cleanup_free = mem_printf("s3://%s%s", place->authority, path);

	if (s3_access_find(conf_text(site, "tony.s3.endpoint"), conf_text(site, "tony.s3.region"),
			   &access.s3, err) < 0)
		return err_wrap(err, "%s", url);
	return add(stores, url, &access, away, err);
}

/* ---- all of them -------------------------------------------------------------------------- */

static struct conf *read_site(struct err *err)
{
	struct conf *site = conf_create();

	if (conf_load_site(site, err) == 0) {
		conf_resolve(site, true);
		return site;
	}
	conf_destroy(site);
	return NULL;
}

static void trust(struct history_store *store, const struct conf *site)
{
	struct str_list publishers cleanup_str_list = {0};

	conf_list(site, &publishers, "tony.history.publishers");
	history_store_trust(store, &publishers);
}

int job_stores_trust(struct history_store *store, struct err *err)
{
	struct conf *site cleanup_conf = read_site(err);

	if (!site)
		return -1;
	trust(store, site);
	return 0;
}

static int add_own(struct job_stores *stores, struct err *err)
{
	char *state cleanup_free = state_dir_find(err);
	char *own cleanup_free = state ? fs_join(state, "history") : NULL;

	return own ? add(stores, own, NULL, NULL, err) : -1;
}

/* A path without a scheme is, like a job's, of this machine and of the cluster. */
static int add_place(struct job_stores *stores, const struct conf *site,
		     const struct store_location *place, const char *path, const struct away *away,
		     struct err *err)
{
	char *url cleanup_free = store_location_url(place, path);

	if (place->kind == STORE_HDFS)
		return add_hdfs(stores, url, away, err);
	if (place->kind == STORE_S3)
		return add_s3(stores, site, place, path, away, err);
	if (add(stores, path, NULL, away, err) < 0)
		return -1;
	if (place->kind == STORE_PATH)
		add_cluster_if_there(stores, path, away);
	return 0;
}

static int add_site(struct job_stores *stores, const struct conf *site, const char *text,
		    struct err *err)
{
	struct store_location location cleanup_store_location = {0};

	if (store_location_parse(text, &location, err) < 0)
		return err_wrap(err, "tony-site.xml: tony.history.location");
	if (add_place(stores, site, &location, location.path, NULL, err) == 0)
		return 0;
	if (location.kind != STORE_S3)
		return -1;
	/* No key to the bucket is here: the others are looked at all the same. */
	log_warning("jobs of tony.history.location are not looked at: %s", err_message(err));
	err_finish(err);
	return 0;
}

static int add_away(struct job_stores *stores, const struct conf *site, const char *key,
		    enum history_tree tree, struct err *err)
{
	const char *text = conf_text(site, "%s", key);
	struct store_location location cleanup_store_location = {0};

	if (!text)
		return 0;
	if (store_location_parse(text, &location, err) < 0)
		return err_wrap(err, "tony-site.xml: %s", key);
	const struct away away = {tree, fs_basename(location.path)};
	char *parent cleanup_free = fs_dirname(location.path);
	return add_place(stores, site, &location, parent, &away, err);
}

static int add_all(struct job_stores *stores, const struct conf *site, struct err *err)
{
	const char *location = conf_text(site, "tony.history.location");

	if ((location && add_site(stores, site, location, err) < 0) || add_own(stores, err) < 0)
		return -1;
	if (!location)
		add_cluster_if_there(stores, NULL, NULL);
	if (add_away(stores, site, "tony.history.finished", HISTORY_FINISHED, err) < 0)
		return -1;
	return add_away(stores, site, "tony.history.intermediate", HISTORY_INTERMEDIATE, err);
}

/* A user has named it: a slip is no empty history. */
static int add_directory(struct job_stores *stores, const char *path, struct err *err)
{
	if (!fs_exists(path))
		return err_set(err, ERR_NOT_FOUND, "there is no history in %s: it is not there",
			       path);
	if (!fs_is_directory(path))
		return err_set(err, ERR_USAGE, "there is no history in %s: it is no directory",
			       path);
	return add(stores, path, NULL, NULL, err);
}

static int add_one(struct job_stores *stores, const struct conf *site, const char *text,
		   struct err *err)
{
	struct store_location location cleanup_store_location = {0};
	char *path cleanup_free = NULL;

	if (!strstr(text, "://")) {
		path = fs_absolute(text, err);
		return path ? add_directory(stores, path, err) : -1;
	}
	if (store_location_parse(text, &location, err) < 0)
		return -1;
	return store_location_is_remote(&location)
		       ? add_place(stores, site, &location, location.path, NULL, err)
		       : add_directory(stores, location.path, err);
}

int job_stores_open(const char *location, struct job_stores *stores, struct err *err)
{
	struct conf *site cleanup_conf = read_site(err);

	*stores = (struct job_stores){0};
	if (!site ||
	    (location ? add_one(stores, site, location, err) : add_all(stores, site, err)) < 0) {
		job_stores_close(stores);
		return -1;
	}
	for (size_t i = 0; i < stores->count; i++)
		trust(stores->items[i], site);
	return 0;
}

/* ---- within a time ------------------------------------------------------------------------ */

static bool is_of(const struct history_store *store, const char *scheme)
{
	return str_starts_with(history_store_location(store), scheme);
}

static struct history_store *first_of(const struct job_stores *stores, const char *scheme)
{
	for (size_t i = 0; i < stores->count; i++)
		if (is_of(stores->items[i], scheme))
			return stores->items[i];
	return NULL;
}

/* One question for all stores: those of other file systems than the jobs' are rare. */
static int ask_hdfs(const struct job *job, int64_t within_ms, struct err *err)
{
	struct hadoop_cluster *cluster cleanup_hadoop_cluster = yarn_cluster_find(job, err);
	struct webhdfs_file root cleanup_webhdfs_file = {0};

	if (!cluster)
		return -1;
	struct webhdfs_options options = hdfs_access_webhdfs(&cluster->hdfs);
	options.connect_timeout_ms = options.silence_timeout_ms = within_ms;
	options.max_wait_ms = -1; /* a silence that ends a moment early is not asked again */
	struct webhdfs_client *client cleanup_webhdfs = webhdfs_client_create(&options, err);
	return client ? webhdfs_stat(client, "/", &root, err) : -1;
}

static void leave_out(struct job_stores *stores, const char *scheme, const char *name,
		      const struct err *why)
{
	size_t kept = 0;

	for (size_t i = 0; i < stores->count; i++) {
		struct history_store *store = stores->items[i];
		if (is_of(store, scheme)) {
			str_list_add(&stores->away, history_store_location(store));
			history_store_close(store);
		} else {
			stores->items[kept++] = store;
		}
	}
	stores->count = kept;
	log_warning("jobs in %s are not looked at: %s", name, err_message(why));
}

/* One question for all buckets: they have one server. */
int job_stores_open_within(const char *location, int64_t within_ms, struct job_stores *stores,
			   struct err *err)
{
	struct err why cleanup_err = {0}, why_s3 cleanup_err = {0};

	if (job_stores_open(location, stores, err) < 0)
		return -1;
	struct history_store *bucket = first_of(stores, "s3:");
	if (first_of(stores, "hdfs:") && ask_hdfs(NULL, within_ms, &why) < 0 &&
	    why.kind == ERR_UNREACHABLE)
		leave_out(stores, "hdfs:", "HDFS", &why);
	if (bucket && history_store_ask(bucket, &why_s3) < 0 && why_s3.kind == ERR_UNREACHABLE)
		leave_out(stores, "s3:", "S3", &why_s3);
	return 0;
}

/* Where a job's history is to go, "hdfs" or "s3"; NULL: to this machine. The caller frees. */
static char *history_scheme(const struct job *job)
{
	const char *text = job_config(job, "tony.history.location");
	const char *end = text ? strstr(text, "://") : NULL;

	if (end)
		return mem_strndup(text, (size_t)(end - text));
	/* A path is one of the cluster's own file system, as is the user's own place. */
	return scheduler_traits_of(job)->remote_am ? mem_strdup("hdfs") : NULL;
}

int job_stores_check_reached(const struct job_stores *stores, const struct job *job,
			     struct err *err)
{
	char *scheme cleanup_free = history_scheme(job);
	for (size_t i = 0; scheme && i < stores->away.count; i++) {
		const char *place = stores->away.items[i];
		if (str_starts_with(place, scheme))
			return err_set(err, ERR_UNREACHABLE,
				       "%s stays: its history is in %s, which does not answer",
				       job->id, place);
	}
	return 0;
}

/* ---- of another user's job --------------------------------------------------------------- */

void job_stores_forget(struct job *job)
{
	static const char *const keys[] = {
		"tony.application.hdfs-conf-path",
		"tony.application.yarn-conf-path",
		"tony.hdfs.httpfs",
		"tony.hdfs.ca-file",
		"tony.other.namenodes",
		"tony.yarn.staging-location",
		"tony.s3.endpoint",
		"tony.s3.region",
	};

	json_decref(job->engine);
	json_decref(job->stores);
	job->engine = job->stores = NULL;
	for (size_t i = 0; i < array_length(keys); i++)
		json_object_del(job->config, keys[i]);
}

/* ---- of one job --------------------------------------------------------------------------- */

static struct store *open_in_s3(const struct job *job, const char *place, int64_t wait_ms,
				struct store_access *access, struct err *err)
{
	*access = (struct store_access){.has_s3 = true};
	if (s3_access_find(job_config(job, "tony.s3.endpoint"), job_config(job, "tony.s3.region"),
			   &access->s3, err) < 0)
		return NULL;
	return store_open(place, access, wait_ms, NULL, err);
}

struct store *job_stores_open_place(const struct job *job, const char *place, struct err *err)
{
	struct store_access access cleanup_store_access = {0};

	if (str_starts_with(place, "file://"))
		return store_open(place, NULL, 0, NULL, err);
	if (job && str_starts_with(place, "s3://"))
		return open_in_s3(job, place, 0, &access, err);
	struct hadoop_cluster *cluster cleanup_hadoop_cluster = yarn_cluster_find(job, err);
	if (!cluster) {
		err_wrap(err, "%s", place);
		return NULL;
	}
	bool is_path = *place == '/' && !cluster->fs;
	char *text cleanup_free = mem_printf("%s%s", is_path ? HDFS_SCHEME : "", place);
	char *url cleanup_free = yarn_url_within(cluster, text);
	if (url)
		return yarn_store_at(cluster, url, NULL, err);
	err_set(err, ERR_CONFIG, "%s is not in the file system that the site files name, %s", place,
		hadoop_cluster_fs(cluster));
	return NULL;
}

static int note_hdfs(struct job *job, const char *url, struct err *err)
{
	struct hadoop_cluster *cluster cleanup_hadoop_cluster = yarn_cluster_find(job, err);
	char *found cleanup_free = cluster ? resolve(cluster, url, err) : NULL;

	if (!found)
		return -1;
	yarn_cluster_note_hdfs(cluster, job);
	return 0;
}

/* Whatever is wrong with key, region or bucket shows at the first question. */
static int note_s3(struct job *job, const char *text, struct err *err)
{
	struct store_access access cleanup_store_access = {0};
	struct store_item top cleanup_store_item = {0};
	struct store *store = open_in_s3(job, text, SUBMIT_WAIT_MS, &access, err);
	int result = store ? store_look(store, "", &top, err) : -1;

	store_close(store);
	if (result < 0)
		return -1;
	if (!job->stores)
		job->stores = json_object();
	s3_access_write(&access.s3, job->stores);
	return 0;
}

/* Looks at the directory, or at the last one of its path that is there: a place that is missing is
 * told at submission, not when the job has ended. */
static int check_writable(const char *directory, struct err *err)
{
	char *path cleanup_free = mem_strdup(directory);

	while (!fs_exists(path) && !str_equal(path, "/"))
		mem_replace(&path, fs_dirname(path));
	if (!fs_is_directory(path))
		return err_set(err, ERR_CONFIG, "%s is no directory", path);
	if (access(path, W_OK | X_OK) < 0)
		return err_set(err, ERR_CONFIG,
			       "%s cannot be written to: %s; name a directory of your own", path,
			       strerror(errno));
	return 0;
}

static int note_place(struct job *job, const struct store_location *location, const char *text,
		      struct err *err)
{
	char *url cleanup_free = store_location_url(location, location->path);

	switch (location->kind) {
	case STORE_HDFS:
		return note_hdfs(job, url, err);
	case STORE_S3:
		return note_s3(job, text, err);
	case STORE_PATH:
	case STORE_FILE:
		break;
	}
	return check_writable(location->path, err);
}

/* The programs get a copy, which the executor keeps equal to it. */
static int prepare_copied(struct job *job, const char *key, const char *text, struct err *err)
{
	struct store_location location cleanup_store_location = {0};

	if (!text)
		return 0;
	if (store_location_is_foreign(text)) {
		char *shown cleanup_free = net_url_masked(text);
		log_warning("%s: %s: tony keeps nothing there: programs get it as it is; for a "
			    "bucket of S3 write s3://BUCKET/PATH",
			    key, shown);
		return 0;
	}
	int result = store_location_parse(text, &location, err);
	if (result == 0 && store_location_is_remote(&location))
		result = note_place(job, &location, text, err);
	if (result == 0 && location.kind == STORE_HDFS)
		result = ask_hdfs(job, SUBMIT_WAIT_MS, err);
	return result < 0 ? err_wrap(err, "%s", key) : 0;
}

int job_stores_prepare(struct job *job, struct err *err)
{
	const char *text = job_config(job, "tony.history.location");
	struct store_location location cleanup_store_location = {0};

	if (prepare_copied(job, "tony.application.checkpoint-dir", job->checkpoint_dir, err) < 0 ||
	    prepare_copied(job, "tony.application.output-dir", job->results_dir, err) < 0)
		return -1;
	if (text && (store_location_parse(text, &location, err) < 0 ||
		     note_place(job, &location, text, err) < 0))
		return err_wrap(err, "tony.history.location");
	return 0;
}

void job_stores_offer_hdfs(struct job *job)
{
	const char *path = job_config(job, "tony.application.hdfs-conf-path");
	bool is_named = path || hadoop_site_is_there();
	struct hadoop_cluster *cluster cleanup_hadoop_cluster =
		is_named && !json_object_get(job->stores, "hdfs") ? yarn_cluster_find(job, NULL)
								  : NULL;

	if (cluster && hadoop_cluster_has_hdfs(cluster))
		yarn_cluster_note_hdfs(cluster, job);
}
