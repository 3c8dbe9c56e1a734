/*
 * The client's side of YARN: submits a job as an application of type TONY with the tag "tony", and
 * finds it again.
 *
 *   <home>/.tony/cache/<sha256>[.tar.gz]    files of the user's, by content, for all jobs
 *   <home>/.tony/<application id>/          job.json and token, readable by the owner only
 *   <home>/.tony/history/<application id>/  job.json and journal.jsonl of an ended job
 *   <state>/yarn/<application id>/          this machine's copy (state_dir.h)
 */
#ifndef TONY_SCHEDULER_YARN_CLIENT_H
#define TONY_SCHEDULER_YARN_CLIENT_H

#include "hadoop/cluster.h"
#include "hadoop/rpc.h"
#include "proto/yarn.pb-c.h"
#include "scheduler/scheduler.h"

struct webhdfs_client;

extern const struct scheduler_client_ops yarn_scheduler_client;

/* Tags that say whose an application is. */
#define YARN_TAG	   "tony"
#define YARN_FRAMEWORK_TAG "tony-" /* the framework's name behind it */

/* ---- what its parts share ----------------------------------------------------------------- */

/* A key of the job's effective configuration; NULL: unset or empty. */
const char *yarn_config(const struct job *job, const char *key);
/* The same of a key that is put together: "tony.%s.placement-spec". */
const char *yarn_config_format(const struct job *job, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
bool yarn_config_bool(const struct job *job, const char *key);
bool yarn_config_is_default(const struct job *job, const char *key);

/* What the site files say, and the keys of `job` about them; NULL: the site files alone. The caller
 * destroys it. */
struct hadoop_cluster *yarn_cluster_find(const struct job *job, struct err *err);
void yarn_cluster_cleanup(struct hadoop_cluster **cluster);
#define cleanup_hadoop_cluster __attribute__((cleanup(yarn_cluster_cleanup)))

/* One call of the ResourceManager; see rpc_call_wait(). */
int yarn_call(const struct hadoop_cluster *cluster, const struct rpc_method *method,
	      const ProtobufCMessage *request, ProtobufCMessage **response,
	      struct rpc_failure *failure, struct err *err);
void yarn_message_cleanup(ProtobufCMessage **message);
#define cleanup_message __attribute__((cleanup(yarn_message_cleanup), unused))

struct webhdfs_client *yarn_webhdfs(const struct hadoop_cluster *cluster, struct err *err);
void yarn_webhdfs_cleanup(struct webhdfs_client **client);
#define cleanup_webhdfs __attribute__((cleanup(yarn_webhdfs_cleanup)))

/* The report of an application, to be freed like any message. NULL: `err`; ERR_NOT_FOUND when the
 * ResourceManager does not know it. */
Hadoop__GetApplicationReportResponseProto *yarn_report(const struct hadoop_cluster *cluster,
						       const char *id, struct err *err);
enum job_state yarn_job_state(const Hadoop__ApplicationReportProto *report);

/* "<home>/.tony/<name>". The caller frees. */
char *yarn_user_path(const struct hadoop_cluster *cluster, const char *name);

/* ---- yarn_check.c, yarn_queue.c, yarn_stage.c, yarn_submit.c ------------------------------ */

/* What the AM's own container gets. */
struct yarn_am_size {
	int64_t memory; /* MiB */
	int vcores;
};
struct yarn_am_size yarn_am_size(const struct job *job);

int yarn_preflight(struct hadoop_cluster *cluster, struct job *job, struct err *err);

/* Is the queue there, open, allowed to use the labels, and large enough? */
int yarn_check_queue(const struct hadoop_cluster *cluster, const struct job *job, struct err *err);

int yarn_stage(struct job *job, const struct scheduler_staging *staging, struct err *err);
int yarn_prepare(const struct job *job, struct job_door *door, struct err *err);
int yarn_start(const struct job *job, struct job_door *door, struct err *err);

/* Fills the submission's context. `json_length` and `json_timestamp` are those of job.json in the
 * job's directory. */
int yarn_submit(const struct hadoop_cluster *cluster, const struct job *job, const char *token,
		int64_t json_length, int64_t json_timestamp, struct err *err);

/* ---- yarn_jobs.c, yarn_mirror.c ----------------------------------------------------------- */

bool yarn_is_id(const char *id);
int yarn_find(const char *id, struct job_door *door, char **full_id, struct err *err);
int yarn_list(struct job_summary **jobs, size_t *count, struct err *err);
int yarn_kill(const struct job_door *door, struct err *err);

/* This machine's copy of a job, made where it is missing. The caller frees. */
char *yarn_mirror(const char *id, struct err *err);
int yarn_mirror_write(const char *mirror, const char *name, const char *text, struct err *err);
/* The journal that is there is forgotten when it is another attempt's: each writes its own. */
int yarn_mirror_begin(const char *mirror, int attempt, struct err *err);
bool yarn_mirror_is_final(const char *mirror);
int yarn_pull(const struct job_door *door, struct err *err);
/* Fetches job.json and, of an ended job, the journal from where they are published; a journal that
 * is not there gets a last line as `report` says. */
int yarn_mirror_settle(const char *mirror, const struct hadoop_cluster *cluster, const char *id,
		       const Hadoop__ApplicationReportProto *report, struct err *err);

#endif
