/* Files that tasks have stored of TONY_OUTPUT_DIR, out of HDFS. While they run files come and go:
 * what is gone between the list and the reading is looked for again. */
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/mem.h"
#include "hadoop/webhdfs_client.h"
#include "scheduler/yarn_client.h"
#include "scheduler/yarn_fetch.h"

enum { TRIES = 5 };

#define PARTS ".tony-part" /* files on their way: executor/hdfs_store.h */

static void visit(void *data, const struct webhdfs_file *file)
{
	if (file->is_directory && !str_equal(file->name, PARTS))
		str_list_add(data, file->name);
}

/* 1: there is none. */
static int fetch_tasks(struct webhdfs_client *client, const char *path, const char *target,
		       struct err *err)
{
	struct str_list names cleanup_str_list = {0};
	struct err missing cleanup_err = {0};

	if (webhdfs_list(client, path, visit, &names, &missing) < 0 &&
	    missing.kind != ERR_NOT_FOUND)
		return err_copy(err, &missing);
	if (names.count == 0)
		return 1;
	if (mkdir(target, 0700) < 0)
		return err_set_errno(err, "%s", target);
	for (size_t i = 0; i < names.count; i++) {
		char *from cleanup_free = fs_join(path, names.items[i]);
		char *to cleanup_free = fs_join(target, names.items[i]);
		if (webhdfs_fetch(client, from, to, NULL, err) < 0)
			return -1;
	}
	return 0;
}

static int fetch_patiently(struct webhdfs_client *client, const char *path, const char *target,
			   struct err *err)
{
	struct err failure cleanup_err = {0};
	int result = fetch_tasks(client, path, target, &failure);

	for (int i = 1; i < TRIES && result < 0 && failure.kind == ERR_NOT_FOUND; i++) {
		err_finish(&failure);
		fs_remove_tree(target, NULL);
		result = fetch_tasks(client, path, target, &failure);
	}
	return result < 0 ? err_copy(err, &failure) : result;
}

int yarn_fetch_results(const struct job *job, const char *target, struct err *err)
{
	struct hadoop_cluster *cluster cleanup_hadoop_cluster =
		hadoop_cluster_from_json(job->cluster, err);
	const char *path = cluster ? yarn_path_within(cluster, job->output_dir) : NULL;
	struct webhdfs_client *client cleanup_webhdfs = path ? yarn_webhdfs(cluster, err) : NULL;

	if (cluster && !path)
		return err_set(err, ERR_INPUT, "%s is not in the cluster's file system, %s",
			       job->output_dir, cluster->fs);
	return client ? fetch_patiently(client, path, target, err) : -1;
}
