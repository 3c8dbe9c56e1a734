/* Files that tasks have stored of TONY_OUTPUT_DIR, out of HDFS. While they run files come and go:
 * what is gone between the list and the reading is looked for again. */
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "hadoop/webhdfs_client.h"
#include "scheduler/yarn_client.h"
#include "scheduler/yarn_fetch.h"

enum { TRIES = 5 };

#define PARTS ".tony-part" /* files on their way: executor/mirror_store.h */

struct fetching {
	const struct yarn_results_watch *watch;
	size_t tasks;	/* that have a directory there */
	int64_t length; /* of the files that are to come */
};

static bool is_wanted(void *data, const char *name, const struct webhdfs_file *file)
{
	struct fetching *fetching = data;
	const struct yarn_results_watch *watch = fetching->watch;

	if (!strchr(name, '/')) {
		bool is_task = file->is_directory && !str_equal(name, PARTS);
		fetching->tasks += is_task;
		return is_task;
	}
	if (file->is_directory)
		return true;
	if (watch->is_there(watch->data, name, file->length, file->modified_ms))
		return false;
	fetching->length += file->length;
	return true;
}

static bool on_progress(void *data, int64_t bytes)
{
	const struct fetching *fetching = data;
	const struct yarn_results_watch *watch = fetching->watch;

	return watch->progress(watch->data, bytes, fetching->length);
}

/* 1: there is none. */
static int fetch_tasks(struct webhdfs_client *client, const char *path, const char *target,
		       const struct yarn_results_watch *watch, struct err *err)
{
	struct fetching fetching = {.watch = watch};
	const struct webhdfs_choice choice = {is_wanted, &fetching};
	const struct webhdfs_progress progress = {on_progress, &fetching};
	struct webhdfs_file root cleanup_webhdfs_file = {0};
	struct err missing cleanup_err = {0};

	if (webhdfs_stat(client, path, &root, &missing) < 0)
		return missing.kind == ERR_NOT_FOUND ? 1 : err_copy(err, &missing);
	if (webhdfs_fetch(client, path, target, &choice, &progress, err) < 0)
		return -1;
	return fetching.tasks == 0;
}

static int fetch_patiently(struct webhdfs_client *client, const char *path, const char *target,
			   const struct yarn_results_watch *watch, struct err *err)
{
	struct err failure cleanup_err = {0};
	int result = fetch_tasks(client, path, target, watch, &failure);

	for (int i = 1; i < TRIES && result < 0 && failure.kind == ERR_NOT_FOUND; i++) {
		err_finish(&failure);
		fs_remove_tree(target, NULL);
		result = fetch_tasks(client, path, target, watch, &failure);
	}
	return result < 0 ? err_copy(err, &failure) : result;
}

int yarn_fetch_results(const struct job *job, const char *target,
		       const struct yarn_results_watch *watch, struct err *err)
{
	struct hadoop_cluster *cluster cleanup_hadoop_cluster =
		hadoop_cluster_from_json(job->engine, job->stores, err);
	const char *path = cluster ? yarn_path_within(cluster, job->output_dir) : NULL;
	struct webhdfs_client *client cleanup_webhdfs = path ? yarn_webhdfs(cluster, err) : NULL;

	if (cluster && !path)
		return err_set(err, ERR_INPUT, "%s is not in the cluster's file system, %s",
			       job->output_dir, cluster->hdfs.fs);
	return client ? fetch_patiently(client, path, target, watch, err) : -1;
}
