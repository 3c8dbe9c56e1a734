#include "scheduler/yarn_end.h"

#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "history/layout.h"
#include "history/pack.h"
#include "history/upload.h"
#include "job/journal.h"
#include "job/record.h"
#include "scheduler/state_dir.h"
#include "scheduler/yarn_store.h"
#include "store/store.h"

/* ---- the process -------------------------------------------------------------------------- */

int yarn_end_find(const char *mirror, struct scheduler_place *place, struct err *err)
{
	char *mark cleanup_free = fs_join(mirror, YARN_END_SUBMITTED_HERE);

	if (state_dir_hold(mirror, err) < 0)
		return -1;
	place->journal = fs_join(mirror, "journal.jsonl");
	place->is_brought = !fs_exists(mark);
	return record_ends_journal(place->journal)
		       ? 0
		       : err_set(err, ERR_INPUT, "%s: a job on YARN that has not ended", mirror);
}

/* ---- publishing --------------------------------------------------------------------------- */

int yarn_end_publish_at(const struct hadoop_cluster *cluster, const char *location,
			const struct job *job, const char *mirror, struct err *err)
{
	char *journal cleanup_free = fs_join(mirror, "journal.jsonl");
	char *packed cleanup_free = mem_printf("%s/history.%d", mirror, getpid());
	char *metrics cleanup_free = fs_join(mirror, HISTORY_METRICS);
	char *diff cleanup_free = fs_join(mirror, HISTORY_DIFF);
	const struct history_pack pack = {
		.job = job, .journal = journal, .metrics = metrics, .diff = diff};
	const struct history_target target = {
		.submitted_ms = job->submitted_ms,
		.job_id = job->id,
		.attempt = history_attempt(),
		.access = history_access_of(job_config(job, "tony.history.permissions")),
	};

	if (history_pack(&pack, packed, err) < 0)
		return -1;
	struct store *store = yarn_store_open(cluster, location, NULL, err);
	int result = store ? history_upload(store, packed, &target, err) : -1;
	store_close(store);
	fs_remove_tree(packed, NULL);
	return result;
}

static int remove_job_dir(const struct hadoop_cluster *cluster, struct err *err)
{
	struct store *store = yarn_store_open(cluster, cluster->job_dir, NULL, err);
	int result = store ? store_run(store, store_remove(""), err) : -1;

	store_close(store);
	return result;
}

/* A description that was fetched may name any directory. */
static bool is_job_dir(const char *path, const char *id)
{
	char *above cleanup_free = path ? fs_dirname(path) : NULL;

	return above && str_equal(fs_basename(path), id) && str_equal(fs_basename(above), ".tony");
}

static int publish(const struct hadoop_cluster *cluster, const struct job *job, const char *mirror,
		   struct err *err)
{
	const char *id = fs_basename(mirror);

	if (!cluster->history_dir || !is_job_dir(cluster->job_dir, id) || !str_equal(job->id, id))
		return err_set(err, ERR_INPUT, "job.json: it does not say where the job is kept");
	if (yarn_end_publish_at(cluster, cluster->history_dir, job, mirror, err) < 0)
		return err_wrap(err, "the history is not published");
	return remove_job_dir(cluster, err);
}

/* The next client that lists jobs does again whatever fails here. */
void yarn_end_publish(const struct job *job, const char *mirror)
{
	struct err err cleanup_err = {0};
	struct hadoop_cluster *cluster = hadoop_cluster_from_json(job->engine, job->stores, &err);

	if (!cluster || publish(cluster, job, mirror, &err) < 0)
		log_warning("%s", err_message(&err));
	hadoop_cluster_destroy(cluster);
}
