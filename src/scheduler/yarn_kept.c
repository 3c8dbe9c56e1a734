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
static int check_entry(struct history_store *store, const struct history_record *record,
		       const char *user, struct err *err)
{
	if (str_equal(record->user, user))
		return 0;
	log_warning("%s/%s is %s's, and the job is %s's: the entry is not read; %s or the owner of "
		    "the history can remove it",
		    history_store_location(store), record->path, record->user, user, record->user);
	return err_set(err, ERR_NOT_FOUND, "no history of %s's", user);
}

/* Where the job's history is: under the day on which it was submitted, which the ResourceManager
 * knows but for a moment, or wherever one with its id is. */
static int find_history(struct history_store *store, const char *id,
			const Hadoop__ApplicationReportProto *report, struct history_record *record,
			struct err *err)
{
	int64_t started_ms = report ? report->starttime : 0;
	const char *user = yarn_user_of(report);
	struct history_days days = yarn_id_days(id);

	for (int back = 0; started_ms > 0 && back < 2; back++) {
		char *path cleanup_free = history_path(started_ms - back * HISTORY_DAY_MS, id);
		if (history_store_record(store, path, NULL, record, NULL) < 0)
			continue;
		int fd cleanup_close =
			!user || str_equal(record->user, user)
				? history_store_open_file(store, record, HISTORY_SUMMARY,
							  HISTORY_SUMMARY_CAP, NULL)
				: -1;
		if (fd >= 0)
			return 0;
		history_record_finish(record);
	}
	return history_store_find(store, id, &days, user, record, err);
}

/* `user`: that of the job; NULL: the ResourceManager does not know it any more. */
static struct job *read_kept(struct history_store *store, const struct history_record *record,
			     const char *user, struct err *err)
{
	size_t length;

	if (user && check_entry(store, record, user, err) < 0)
		return NULL;
	char *text cleanup_free =
		history_store_read_file(store, record, HISTORY_JOB, JOB_JSON_CAP, &length, err);
	struct job *job = text ? job_from_text(text, length, err) : NULL;
	if (job)
		mem_replace(&job->user, mem_strdup(record->user));
	return job;
}

/* In HDFS another user's entry may take the place of one for a moment (history_record.is_pinned):
 * the copy notes that it may be another's. */
static int note_doubt(struct history_store *store, const struct history_record *record,
		      const char *mirror, struct err *err)
{
	char *doubt cleanup_free = job_stores_doubt(store, record);
	char *path cleanup_free = fs_join(mirror, YARN_DOUBT);

	return doubt ? fs_write_file(path, doubt, strlen(doubt), 0600, err) : 0;
}

static struct job *fetch_kept(const struct hadoop_cluster *cluster, const char *mirror,
			      const Hadoop__ApplicationReportProto *report, struct err *err)
{
	const char *user = yarn_user_of(report);
	struct history_store *store = yarn_history_open(cluster, NULL, err);
	struct history_record record cleanup_history_record = {0};
	struct job *job =
		store && find_history(store, fs_basename(mirror), report, &record, err) == 0
			? read_kept(store, &record, user, err)
			: NULL;

	if (job && note_doubt(store, &record, mirror, err) < 0) {
		job_destroy(job);
		job = NULL;
	}
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
		job = fetch_kept(cluster, mirror, report, err);
	if (!job)
		return -1;
	int result = yarn_kept_write(mirror, job, str_equal(job->user, cluster->user), err);
	job_destroy(job);
	return result;
}

static char *read_journal(struct history_store *store, const struct history_record *record,
			  const char *user, size_t *length, struct err *err)
{
	return check_entry(store, record, user, err) < 0
		       ? NULL
		       : history_store_read_file(store, record, HISTORY_EVENTS, JOURNAL_CAP, length,
						 err);
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
	struct history_record record cleanup_history_record = {0};
	struct err missing cleanup_err = {0};
	char *bytes = NULL;

	if (store && history_store_record(store, path, NULL, &record, &missing) == 0)
		bytes = read_journal(store, &record, job->user, length, &missing);
	/* One of TonY's is elsewhere. */
	if (missing.kind == ERR_NOT_FOUND && !yarn_has_am_still(report)) {
		struct history_days days = yarn_id_days(id);
		struct history_record other cleanup_history_record = {0};
		if (history_store_find(store, id, &days, job->user, &other, NULL) == 0 &&
		    !str_equal(other.path, path)) {
			err_finish(&missing);
			bytes = read_journal(store, &other, job->user, length, &missing);
		}
	}
	if (store && !bytes)
		err_copy(err, &missing);
	history_store_close(store);
	job_destroy(job);
	return bytes;
}
