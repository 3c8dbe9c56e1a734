#include "scheduler/local_history.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "hadoop/cluster.h"
#include "history/layout.h"
#include "history/location.h"
#include "history/pack.h"
#include "history/upload.h"

char *local_history_location(const struct job *job, const char *job_dir)
{
	const char *location = job_config(job, "tony.history.location");

	if (location)
		return mem_strdup(location);
	char *jobs cleanup_free = fs_dirname(job_dir), *state cleanup_free = fs_dirname(jobs);
	return fs_join(state, "history");
}

/* ---- packing ------------------------------------------------------------------------------ */

struct place {
	const struct job *job;
	const char *job_dir;
};

static char *log_path(void *data, size_t task, int attempt, const char *name)
{
	const struct place *place = data;
	const struct job *job = place->job;
	size_t type = 0;

	while (task >= (size_t)job_type_slots(&job->types[type]))
		task -= (size_t)job_type_slots(&job->types[type++]);
	return mem_printf("%s/containers/%s-%zu-%d/%s", place->job_dir, job->types[type].name, task,
			  attempt, name);
}

static int pack(const struct job *job, const char *job_dir, const char *directory, struct err *err)
{
	char *journal cleanup_free = fs_join(job_dir, "journal.jsonl");
	char *metrics cleanup_free = fs_join(job_dir, HISTORY_METRICS);
	struct place place = {job, job_dir};
	const struct history_pack pack = {.job = job,
					  .journal = journal,
					  .metrics = metrics,
					  .log_path = log_path,
					  .data = &place};

	return history_pack(&pack, directory, err);
}

/* ---- HDFS --------------------------------------------------------------------------------- */

/* How to reach it was found out by the client (local_client.c). */
static int upload(const struct job *job, const char *directory, const struct history_target *target,
		  struct err *err)
{
	struct hadoop_cluster *cluster = hadoop_cluster_from_json(job->cluster, err);

	if (!cluster)
		return err_wrap(err, "how HDFS is reached");
	const struct webhdfs_options options = hadoop_cluster_webhdfs(cluster);
	int result = history_upload(&options, directory, target, err);
	hadoop_cluster_destroy(cluster);
	return result;
}

/* ------------------------------------------------------------------------------------------- */

static int publish(const struct job *job, const char *job_dir, const char *packed,
		   const struct history_location *location, struct err *err)
{
	const struct history_target target = {
		.location = location->path,
		.submitted_ms = job->submitted_ms,
		.job_id = job->id,
		.attempt = history_attempt(),
		.access = history_access_of(job_config(job, "tony.history.permissions")),
	};
	char *own cleanup_free = mem_printf("%s/history.%d", job_dir, getpid());

	if (location->kind != HISTORY_HDFS && history_is_published(&target))
		return 0;
	if (!packed && pack(job, job_dir, own, err) < 0)
		return -1;
	const char *directory = packed ? packed : own;
	int result = location->kind == HISTORY_HDFS ? upload(job, directory, &target, err)
						    : history_publish(directory, &target, err);
	fs_remove_tree(own, NULL);
	return result;
}

int local_history_publish(const struct job *job, const char *job_dir, const char *packed,
			  struct err *err)
{
	char *text cleanup_free = local_history_location(job, job_dir);
	struct history_location location cleanup_history_location = {0};

	if (history_location_parse(text, &location, err) < 0 ||
	    publish(job, job_dir, packed, &location, err) < 0)
		return err_wrap(err, "the history of %s is not in %s", job->id, text);
	return 0;
}
