/* How a job's code differed from its commit, for a machine that has not submitted it. */
#include "base/fs.h"
#include "base/mem.h"
#include "history/layout.h"
#include "history/store.h"
#include "scheduler/yarn_client.h"

static int read_staged(const struct hadoop_cluster *cluster, struct str *bytes, struct err *err)
{
	struct store *job_dir cleanup_yarn_store =
		yarn_store_open(cluster, cluster->job_dir, NULL, err);

	return job_dir ? store_read_bytes(job_dir, HISTORY_DIFF, HISTORY_DIFF_CAP, bytes, err) : -1;
}

/* Of the job's user's own entry; another's is none. */
static int read_kept(const struct hadoop_cluster *cluster, const struct job *job, struct str *bytes,
		     struct err *err)
{
	struct history_store *store = yarn_history_open(cluster, job, err);
	struct history_days days = yarn_id_days(job->id);
	struct history_record record cleanup_history_record = {0};
	size_t length = 0;
	char *text cleanup_free =
		store && history_store_find(store, job->id, &days, job->user, &record, err) == 0 &&
				str_equal(record.user, job->user)
			? history_store_read_file(store, &record, HISTORY_DIFF, HISTORY_DIFF_CAP,
						  &length, err)
			: NULL;

	if (record.user && !str_equal(record.user, job->user))
		err_set(err, ERR_NOT_FOUND, "no history of %s's", job->user);
	history_store_close(store);
	if (text)
		str_append_bytes(bytes, text, length);
	return text ? 0 : -1;
}

int yarn_fetch_diff(const struct job *job, const char *job_dir, struct err *err)
{
	char *path cleanup_free = fs_join(job_dir, HISTORY_DIFF);
	struct str bytes cleanup_str = {0};

	if (job_diff_bytes(job) == 0 || fs_exists(path))
		return 0;
	struct hadoop_cluster *cluster cleanup_hadoop_cluster =
		hadoop_cluster_from_json(job->engine, job->stores, err);
	if (!cluster ||
	    (read_staged(cluster, &bytes, NULL) < 0 && read_kept(cluster, job, &bytes, err) < 0))
		return -1;
	return fs_write_file(path, str_text(&bytes), bytes.length, 0600, err);
}
