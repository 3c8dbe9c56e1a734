/* Where the histories of jobs on YARN are. */
#include "base/fs.h"
#include "base/mem.h"
#include "history/store.h"
#include "scheduler/job_stores.h"
#include "scheduler/yarn_client.h"
#include "scheduler/yarn_end.h"
#include "scheduler/yarn_store.h"
#include "store/access.h"
#include "store/location.h"

int yarn_history_prepare(struct hadoop_cluster *cluster, const struct job *job, struct err *err)
{
	const char *location = job_config(job, "tony.history.location");
	struct store_location parsed cleanup_store_location = {0};

	if (location && store_location_parse(location, &parsed, err) < 0)
		return err_wrap(err, "tony.history.location");
	if (location && !cluster->history_dir)
		return err_set(
			err, ERR_CONFIG,
			"tony.history.location: \"%s\" is not in the cluster's own file system, "
			"and a job's AM can bring its history nowhere else; write /PATH or "
			"%s/PATH",
			location, hadoop_cluster_fs_name(cluster));
	if (!location)
		mem_replace(&cluster->history_dir, yarn_user_path(cluster, "history"));
	return 0;
}

/* Its AM publishes a job where the job's description says. A client that sweeps has a place of its
 * own, which may be another one. */
static const char *place_of(const struct hadoop_cluster *cluster, const struct job *job)
{
	const char *own =
		job ? json_string_value(json_object_get(job->engine, "history_dir")) : NULL;

	return own ? own : cluster->history_dir;
}

struct history_store *yarn_history_open(const struct hadoop_cluster *cluster, const struct job *job,
					struct err *err)
{
	const struct store_access access = {hadoop_cluster_has_hdfs(cluster), cluster->hdfs};
	char *url cleanup_free = yarn_store_url(cluster, place_of(cluster, job));

	struct history_store *store = history_store_open(url, &access, err);
	if (store && job_stores_trust(store, err) == 0)
		return store;
	history_store_close(store);
	return NULL;
}

int yarn_history_publish(const struct hadoop_cluster *cluster, const char *mirror, struct err *err)
{
	char *path cleanup_free = fs_join(mirror, "job.json");
	struct job *job = job_read_file(path, err);
	int result =
		job ? yarn_end_publish_at(cluster, place_of(cluster, job), job, mirror, err) : -1;

	job_destroy(job);
	return result;
}
