/* Stored files that tell of a job on YARN: in the job's directory while it lives, where histories
 * are once it has ended. */
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "history/layout.h"
#include "history/store.h"
#include "job/record.h"
#include "scheduler/job_stores.h"
#include "scheduler/yarn_client.h"

#define JOURNAL_CAP ((size_t)1 << 30)

const char *yarn_user_of(const Hadoop__ApplicationReportProto *report)
{
	return report ? yarn_known_text(report->user) : NULL;
}

/* Any user may have put an entry with the job's id into a store that users share. ERR_NOT_FOUND: it
 * is not this user's, and was put there by none that is believed. */
static int check_entry(struct history_store *store, const char *path, const char *user,
		       struct err *err)
{
	char *owner cleanup_free = history_store_user(store, path, NULL, user, err);

	if (!owner)
		return -1;
	if (str_equal(owner, user))
		return 0;
	log_warning("%s/%s is %s's, and the job is %s's: the entry is not read; %s or the owner of "
		    "the history can remove it",
		    history_store_location(store), path, owner, user, owner);
	return err_set(err, ERR_NOT_FOUND, "no history of %s's", user);
}

/* Where the job's history is: under the day on which it was submitted, which the ResourceManager
 * knows but for a moment, or wherever one with its id is. NULL: `err`. The caller frees. */
static char *find_history(struct history_store *store, const char *id,
			  const Hadoop__ApplicationReportProto *report, struct err *err)
{
	int64_t started_ms = report ? report->starttime : 0;
	struct history_days days = yarn_id_days(id);

	for (int back = 0; started_ms > 0 && back < 2; back++) {
		char *path cleanup_free = history_path(started_ms - back * HISTORY_DAY_MS, id);
		int fd cleanup_close = history_store_open_file(store, path, HISTORY_SUMMARY,
							       HISTORY_SUMMARY_CAP, NULL);
		if (fd >= 0)
			return mem_steal(&path);
	}
	return history_store_find(store, id, &days, yarn_user_of(report), err);
}

/* `user`: that of the job; NULL: the ResourceManager does not know it any more. */
static struct job *read_kept(struct history_store *store, const char *path, const char *user,
			     struct err *err)
{
	size_t length;
	char *text cleanup_free =
		history_store_read_file(store, path, HISTORY_JOB, JOB_JSON_CAP, &length, err);
	struct job *job = text ? job_from_text(text, length, err) : NULL;
	char *owner = NULL;

	if (job && (!user || check_entry(store, path, user, err) == 0))
		owner = history_store_user(store, path, NULL, job->user, err);
	if (owner) {
		mem_replace(&job->user, owner);
		return job;
	}
	job_destroy(job);
	return NULL;
}

static struct job *fetch_kept(const struct hadoop_cluster *cluster, const char *id,
			      const Hadoop__ApplicationReportProto *report, struct err *err)
{
	struct history_store *store = yarn_history_open(cluster, NULL, err);
	char *path cleanup_free = store ? find_history(store, id, report, err) : NULL;
	struct job *job = path ? read_kept(store, path, yarn_user_of(report), err) : NULL;

	history_store_close(store);
	return job;
}

/* Of the job's directory, which is in its user's home. */
static struct job *fetch_staged(struct store *job_dir, const struct hadoop_cluster *cluster,
				const Hadoop__ApplicationReportProto *report, struct err *err)
{
	const char *user = yarn_user_of(report);
	struct str bytes cleanup_str = {0};

	if (store_read_bytes(job_dir, "job.json", JOB_JSON_CAP, &bytes, err) < 0)
		return NULL;
	struct job *job = job_from_text(str_text(&bytes), bytes.length, err);
	if (job)
		mem_replace(&job->user, mem_strdup(user ? user : cluster->user));
	return job;
}

bool yarn_kept_describes(const char *mirror)
{
	char *path cleanup_free = fs_join(mirror, "job.json");
	struct job *job = fs_exists(path) ? job_read_file(path, NULL) : NULL;

	job_destroy(job);
	return job != NULL;
}

/* How the cluster is reached, and whom to trust there, is no other user's to say. */
int yarn_kept_write(const char *mirror, struct job *job, bool is_own, struct err *err)
{
	char *path cleanup_free = fs_join(mirror, "job.json");

	if (!is_own)
		job_stores_forget(job);
	char *text cleanup_free = job_to_text(job);
	return fs_write_file(path, text, strlen(text), 0600, err);
}

int yarn_kept_description(struct store *job_dir, const struct hadoop_cluster *cluster,
			  const char *mirror, const Hadoop__ApplicationReportProto *report,
			  struct err *err)
{
	if (yarn_kept_describes(mirror))
		return 0;
	struct err away cleanup_err = {0};
	struct job *job = fetch_staged(job_dir, cluster, report, &away);
	if (!job && err_is_silence(&away))
		return err_copy(err, &away);
	if (!job)
		job = fetch_kept(cluster, fs_basename(mirror), report, err);
	if (!job)
		return -1;
	int result = yarn_kept_write(mirror, job, str_equal(job->user, cluster->user), err);
	job_destroy(job);
	return result;
}

static char *read_journal(struct history_store *store, const char *path, const char *user,
			  size_t *length, struct err *err)
{
	char *bytes cleanup_free =
		history_store_read_file(store, path, HISTORY_EVENTS, JOURNAL_CAP, length, err);

	return bytes && check_entry(store, path, user, err) == 0 ? mem_steal(&bytes) : NULL;
}

char *yarn_kept_journal(const struct hadoop_cluster *cluster, const char *mirror,
			const Hadoop__ApplicationReportProto *report, size_t *length,
			struct err *err)
{
	const char *id = fs_basename(mirror);
	char *description cleanup_free = fs_join(mirror, "job.json");
	struct job *job = job_read_file(description, err);
	struct history_store *store = job ? yarn_history_open(cluster, job, err) : NULL;
	char *path cleanup_free = job ? history_path(job->submitted_ms, id) : NULL;
	struct err missing cleanup_err = {0};
	char *bytes = NULL;

	if (store)
		bytes = read_journal(store, path, job->user, length, &missing);
	/* One of TonY's is elsewhere. */
	if (missing.kind == ERR_NOT_FOUND && !yarn_has_am_still(report)) {
		struct history_days days = yarn_id_days(id);
		char *other cleanup_free = history_store_find(store, id, &days, job->user, NULL);
		if (other && !str_equal(other, path)) {
			err_finish(&missing);
			bytes = read_journal(store, other, job->user, length, &missing);
		}
	}
	if (store && !bytes)
		err_copy(err, &missing);
	history_store_close(store);
	job_destroy(job);
	return bytes;
}
