/*
 * The client's side of YARN: submits a job as an application of type TONY with the tag "tony", and
 * finds it again.
 *
 *   <home>                                  /user/<name> in HDFS, or <name> in the directory that
 *                                           tony.yarn.staging-location names
 *   <home>/.tony/cache/<sha256>[.tar.gz]    files of the user's, by content, for all jobs
 *   <home>/.tony/<application id>/          job.json, token and source.diff for the AM and the
 *                                           owner's other machines, from the submission to the end
 *   <home>/.tony/history/                   ended jobs (history/layout.h), unless
 *                                           tony.history.location names another place
 *   <state>/yarn/<application id>/          this machine's copy (state_dir.h)
 *   <state>/removed/<application id>        a removed job that the ResourceManager may still list
 */
#ifndef TONY_SCHEDULER_YARN_CLIENT_H
#define TONY_SCHEDULER_YARN_CLIENT_H

#include "scheduler/scheduler.h"
#include "scheduler/yarn_cluster.h"
#include "scheduler/yarn_store.h"

extern const struct scheduler_client_ops yarn_scheduler_client;

/* Tags that say whose an application is. */
#define YARN_TAG	   "tony"
#define YARN_FRAMEWORK_TAG "tony-" /* the framework's name behind it */

/* ---- yarn_check.c, yarn_queue.c, yarn_total.c, yarn_staging.c, yarn_stage.c, yarn_submit.c
 * ------------------------------ */

/* *given: as scheduler_client_ops.preflight() has it. */
int yarn_preflight(struct hadoop_cluster *cluster, struct job *job, struct share *given,
		   struct err *err);

/* Where jobs' files go to a directory that all nodes see: is it fit for that? Makes the user's own
 * part of it. */
int yarn_check_staging(const struct hadoop_cluster *cluster, struct err *err);

struct yarn_rules;
/* -1: the job names a placement constraint or allocation tags, and the ResourceManager tells that
 * its cluster takes none. */
int yarn_check_handler(const struct hadoop_cluster *cluster, const struct job *job,
		       struct yarn_rules *rules, struct err *err);

/* Is the queue that the job goes to there, or will it be made, is it open to this user, allowed to
 * use the labels, and large enough? Notes in cluster->queue what YARN is to be told, and in
 * job->queue the queue as YARN will tell of it.
 * `largest`: the cluster's largest container. Notes the cluster's nodes. */
int yarn_check_queue(struct hadoop_cluster *cluster, struct job *job,
		     const Hadoop__ResourceProto *largest, struct share *given, struct err *err);

struct yarn_tree;
struct yarn_tree_queue;
/* Where a job will be. */
struct yarn_queue_found {
	const struct yarn_tree *tree;
	const struct yarn_tree_queue *queue;
	char *path;  /* "root.users.bob" */
	char *name;  /* for messages: as the user wrote it, else the path */
	bool is_new; /* it is not there yet: `queue` is one above it */
	bool is_any; /* which one it will be is not known */
};
/* ERR_CAPACITY: all that runs together can never be had. */
int yarn_check_total(struct hadoop_cluster *cluster, const struct job *job,
		     const struct yarn_queue_found *found, const Hadoop__ResourceProto *largest,
		     struct err *err);

/* Those that the job's containers need, with all that this process has opened so far
 * (hdfs_token.h); where the cluster does not use Kerberos, none. */
int yarn_get_tokens(const struct hadoop_cluster *cluster, const struct job *job, struct err *err);
/* One of the ResourceManager, out of the file that HADOOP_TOKEN_FILE_LOCATION names or by the
 * user's ticket (*is_own). `token` is {0}. */
int yarn_get_rm_token(const struct hadoop_cluster *cluster, struct hadoop_token *token,
		      bool *is_own, struct err *err);
int yarn_renew(const struct job *job, struct str *tokens, struct str_list *names, struct err *err);
struct scheduler_negotiator *yarn_open_negotiator(const char *keytab, struct err *err);

int yarn_stage(struct job *job, const struct scheduler_staging *staging, struct err *err);
int yarn_find_sent(const struct job *job, size_t type, const char *name,
		   struct scheduler_sent *sent, struct err *err);
int yarn_prepare(const struct job *job, struct job_door *door, struct err *err);
int yarn_start(const struct job *job, struct job_door *door, struct err *err);

/* `description`: the job's job.json, which travels in the credentials. */
int yarn_submit(const struct hadoop_cluster *cluster, const struct job *job, const char *token,
		const char *description, struct err *err);

/* ---- yarn_history.c ----------------------------------------------------------------------- */

/* ERR_CONFIG: the job's history would go where its AM cannot bring it. Sets history_dir where no
 * place is named. */
int yarn_history_prepare(struct hadoop_cluster *cluster, const struct job *job, struct err *err);
/* The store of this job's history; of any job's in cluster->history_dir where `job` is NULL. */
struct history_store *yarn_history_open(const struct hadoop_cluster *cluster, const struct job *job,
					struct err *err);
/* In place of an AM that could not: what a mirror has of a job that has ended. */
int yarn_history_publish(const struct hadoop_cluster *cluster, const char *mirror, struct err *err);

/* ---- yarn_kept.c, yarn_diff_fetch.c
 * -------------------------------------------------------------------------- */

/* NULL: the ResourceManager does not say. */
const char *yarn_user_of(const Hadoop__ApplicationReportProto *report);
/* In a mirror: job_door.doubt of a job whose description is of an entry of the history. */
#define YARN_DOUBT "doubt"
/* The mirror has a job.json that can be read. */
bool yarn_kept_describes(const char *mirror);
/* Writes the mirror's job.json. */
int yarn_kept_write(const char *mirror, struct job *job, bool is_own, struct err *err);
/* Brings job.json to the mirror, unless it is there: from the job's directory, or from where an
 * ended one was published. */
int yarn_kept_description(struct store *job_dir, const struct hadoop_cluster *cluster,
			  const char *mirror, const Hadoop__ApplicationReportProto *report,
			  struct err *err);
/* The journal that was published. ERR_NOT_FOUND: it was not, or not yet. The caller frees. */
char *yarn_kept_journal(const struct hadoop_cluster *cluster, const char *mirror,
			const Hadoop__ApplicationReportProto *report, size_t *length,
			struct err *err);

int yarn_fetch_diff(const struct job *job, const char *job_dir, struct err *err);

/* ---- yarn_named.c */

/* Sets what proves to the job's AM who this user is. False: the ResourceManager gives none, as to a
 * user whom the job's view ACL does not name, and on a cluster without Kerberos. */
bool yarn_named_prove(const Hadoop__ApplicationReportProto *report, struct job_door *door);
/* Brings job.json, as others may know it, from the AM to the mirror. 1: there is no AM that this
 * user could ask; ERR_DENIED: it refuses him. */
int yarn_named_describe(const Hadoop__ApplicationReportProto *report, const char *mirror,
			struct err *err);

/* ---- yarn_jobs.c, yarn_reports.c, yarn_list.c, yarn_mirror.c
 * ---------------------------------------- */

int yarn_find(const char *id, struct job_door *door, char **full_id, struct err *err);
int yarn_answers(int64_t within_ms, struct err *err);
int yarn_list(const char *user, int64_t ended_since_ms, struct job_summary **jobs, size_t *count,
	      struct err *err);
int yarn_remove(const char *id, struct removal *removal, struct err *err); /* yarn_removal.c */
int yarn_ended(int64_t until_ms, struct str_list *ids, struct err *err);   /* likewise */
/* Likewise; after the submission of `job`, whose keys say what is old: this machine's copies
 * (tony.jobs.max-age), and all that is left (tony.jobs.results-max-age). */
void yarn_removal_age(const struct job *job);
int yarn_age_cache(int64_t max_age_ms, struct removal *removal, struct err *err); /* yarn_cache.c */
int yarn_kill(const struct job_door *door, const char *reason, struct err *err);
int yarn_kill_waiting(const struct job_door *door, const char *reason, struct err *err);

/* A job that was submitted from here is on the cluster that it was submitted to, whatever site
 * files were meant then (tony.application.yarn-conf-path, another HADOOP_CONF_DIR). The caller
 * destroys it.
 */
struct hadoop_cluster *yarn_cluster_of(const char *id, struct err *err);

/* This machine's copy of a job: its path, and the same once it is made where it was missing. The
 * caller frees. */
char *yarn_mirror_path(const char *id, struct err *err);
char *yarn_mirror(const char *id, struct err *err);
int yarn_mirror_write(const char *mirror, const char *name, const char *text, struct err *err);
/* A mark in a mirror: the ResourceManager may never have heard of the job. */
#define YARN_MIRROR_UNSENT "unsent"
bool yarn_mirror_is_unsent(const char *mirror);
void yarn_mirror_note_sent(const char *mirror);
/* The ResourceManager has begun this attempt. Once its AM has come, the journal that is there is
 * forgotten when it is an earlier attempt's: each writes its own. */
int yarn_mirror_begin(const char *mirror, int attempt, bool has_come, struct err *err);
/* The address of the AM whose journal this is: as `told` by the ResourceManager; NULL: as it was
 * told before. A ResourceManager that was started anew does not know it until the AM has registered
 * with it again. The caller frees; NULL: not known. */
char *yarn_mirror_address(const char *mirror, const char *told);
/* The job's token as it is here, else out of the job's directory (NULL: that is not asked), of
 * which it is kept here beside the description. NULL: it is not to be had. The caller frees. */
char *yarn_mirror_token(const char *mirror, struct store *job_dir);
/* Whether the job's AM speaks TLS alone, out of its description there; true where that cannot be
 * read. */
bool yarn_mirror_is_sealed(const char *mirror, struct store *job_dir);
int yarn_mirror_attempt(const char *mirror); /* which AM it is; 0: not known */
bool yarn_mirror_is_final(const char *mirror);
/* Whether an AM has kept a journal in the job's directory, which is asked once. -1: `err`. */
int yarn_mirror_kept(const struct hadoop_cluster *cluster, struct err *err);
int yarn_pull(const struct job_door *door, int64_t hold_ms, struct pull_aside *aside,
	      struct err *err);
/* Of an ended job: publishes what is here in place of the AM that could not, so that other machines
 * of the user's know it, too, and removes the job's directory in HDFS. While notices are to be sent
 * nothing: who sends them does that. */
void yarn_mirror_clear_up(const char *mirror, const struct hadoop_cluster *cluster);
/* The end of a job that never ran, for which no store is asked: yarn_mirror_clear_up() is to follow
 * once one answers. */
void yarn_mirror_end(const char *mirror, const struct hadoop_cluster *cluster,
		     const Hadoop__ApplicationReportProto *report);
/* Fetches job.json and, of an ended job, the journal from where they are published; a journal that
 * is not there gets a last line as `report` says. */
int yarn_mirror_settle(const char *mirror, const struct hadoop_cluster *cluster, const char *id,
		       const Hadoop__ApplicationReportProto *report, struct err *err);

#endif
