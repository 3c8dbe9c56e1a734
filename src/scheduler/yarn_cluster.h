/* How a cluster is reached, and the words of its reports: below all other parts of the client's
 * side. */
#ifndef TONY_SCHEDULER_YARN_CLUSTER_H
#define TONY_SCHEDULER_YARN_CLUSTER_H

#include "hadoop/cluster.h"
#include "hadoop/rpc.h"
#include "history/layout.h"
#include "job/job.h"
#include "job/machine.h"
#include "proto/yarn.pb-c.h"
#include "scheduler/share.h"
#include "scheduler/yarn_state.h"

struct hadoop_site;
struct webhdfs_client;

#define YARN_OTHERS_KEY "tony.other.namenodes"

/* What the site files say, and the keys of `job` about them; NULL: those of tony-site.xml. The
 * caller destroys it. */
struct hadoop_cluster *yarn_cluster_find(const struct job *job, struct err *err);
/* Tells hdfs_ticket.h who the user is, as tony-site.xml and the site files say. */
int yarn_cluster_tell_user(struct err *err);
/* tony.kerberos.* of tony-site.xml, which is read once; NULL: it has none. */
void yarn_cluster_site_login(const char **principal, const char **keytab);
/* Those site files alone. NULL: `err`; the caller destroys them. */
struct hadoop_site *yarn_cluster_site(const struct job *job, struct err *err);
/* Takes over how the files of the job in `job_dir` are reached, as far as this machine has its
 * description: what was said at its submit may be in no site file. */
void yarn_cluster_adopt(struct hadoop_cluster *cluster, const char *job_dir);
/* Notes it in the job's description: job->engine, and its part of job->stores. */
void yarn_cluster_note(const struct hadoop_cluster *cluster, struct job *job);
/* The part that says how its HDFS is reached, which it has. */
void yarn_cluster_note_hdfs(const struct hadoop_cluster *cluster, struct job *job);
/* -1: jobs' files are in a directory in which somebody else has made this user's part. */
int yarn_check_own_place(const struct hadoop_cluster *cluster, struct err *err);
void yarn_cluster_cleanup(struct hadoop_cluster **cluster);
#define cleanup_hadoop_cluster __attribute__((cleanup(yarn_cluster_cleanup)))

/* One call of the ResourceManager; see rpc_call_wait(). */
int yarn_call(const struct hadoop_cluster *cluster, const struct rpc_method *method,
	      const ProtobufCMessage *request, ProtobufCMessage **response,
	      struct rpc_failure *failure, struct err *err);
void yarn_message_cleanup(ProtobufCMessage **message);
#define cleanup_message __attribute__((cleanup(yarn_message_cleanup), unused))

/* For aggregated logs. `url`: as hdfs_access_resolve() makes it. */
struct webhdfs_client *yarn_webhdfs(const struct hadoop_cluster *cluster, const char *url,
				    struct err *err);
void yarn_webhdfs_cleanup(struct webhdfs_client **client);
#define cleanup_webhdfs __attribute__((cleanup(yarn_webhdfs_cleanup)))

/* The report of an application, to be freed like any message. NULL: `err`; ERR_NOT_FOUND when the
 * ResourceManager does not know it. */
Hadoop__GetApplicationReportResponseProto *yarn_report(const struct hadoop_cluster *cluster,
						       const char *id, struct err *err);
/* Likewise of one attempt of it; NULL: the ResourceManager does not tell. */
Hadoop__GetApplicationAttemptReportResponseProto *
yarn_attempt_report(const struct hadoop_cluster *cluster, const char *id, int attempt);
/* A text of a report; NULL: it says nothing ("", "N/A"). */
const char *yarn_known_text(const char *text);
/* The number of the newest AM; 0: none has begun, or it is not told. `report` may be NULL. */
int yarn_am_attempt(const Hadoop__ApplicationReportProto *report);
/* "host:port" once the AM has registered; NULL: not known. The caller frees. */
char *yarn_am_address(const Hadoop__ApplicationReportProto *report);
/* Whether it is another user's; false also for NULL. */
bool yarn_is_others(const struct hadoop_cluster *cluster,
		    const Hadoop__ApplicationReportProto *report);
/* Why there is no AM yet, or none at the moment (yarn_diagnostics.h); NULL: there is one, or none
 * is to come. The caller frees. */
char *yarn_waiting(const Hadoop__ApplicationReportProto *report);
/* No AM of it runs or has run. False also where that is not known, as of an application that a
 * ResourceManager which was started anew has recovered. */
bool yarn_awaits_first_am(const Hadoop__ApplicationReportProto *report);
/* How an application has ended, one line, in the ResourceManager's words: of a kill the reason that
 * its user has given, of an AM that has failed what that one wrote last, and `cause`. `has_begun`
 * as in yarn_diagnostics.h; `report` may be NULL. The caller frees. */
char *yarn_diagnose(const Hadoop__ApplicationReportProto *report, bool has_begun,
		    struct cause *cause);

/* "/data/x" of "hdfs:///data/x" and "hdfs://<the cluster's>/data/x" or, where jobs' files are in
 * directories, of "file:///data/x" and itself; NULL: another file system. The caller frees. */
char *yarn_path_within(const struct hadoop_cluster *cluster, const char *uri);
/* The URL of such a file or directory, or of one in an HDFS of the cluster's: it has one beside the
 * directories perhaps, and others than the jobs'. NULL: it is in none. The caller frees. */
char *yarn_url_within(const struct hadoop_cluster *cluster, const char *uri);

/* Of what tony.history.location says: the path within the cluster's file system, or the URL in
 * another HDFS of the cluster's; NULL: it names neither. The caller frees. */
char *yarn_history_path(const struct hadoop_cluster *cluster, const char *location);

/* Names in the user's own place (yarn_store.h), of a job with this id; the caller frees. */
/* The results of its tasks: the first executor that stores one makes it. */
char *yarn_output_name(const char *id);
/* The checkpoints of a job that names no directory for them. */
char *yarn_checkpoint_name(const char *id);
/* A job that goes on with the checkpoints of an earlier one of this user's: a directory says so as
 * long as the job is there, YARN_RESUMED "/<its id>.<the earlier one's>". NULL: it does not. */
char *yarn_resumed_name(const struct hadoop_cluster *cluster, const struct job *job);
#define YARN_RESUMED "resumed"

bool yarn_is_id(const char *id);
/* Since the ResourceManager that counted the applications was started. */
struct history_days yarn_id_days(const char *id);

/* An AM that has told of the end itself may still be publishing, and clears up then. */
bool yarn_has_am_still(const Hadoop__ApplicationReportProto *report);

/* What the AM's own container gets. */
struct yarn_am_size {
	int64_t memory; /* MiB */
	int vcores;
};
struct yarn_am_size yarn_am_size(const struct job *job);

#define YARN_MEMORY "memory-mb" /* YARN's own name, as are "vcores" and "yarn.io/gpu" */
#define YARN_VCORES "vcores"
#define YARN_GPUS   "yarn.io/gpu"
/* -1: not told. */
int64_t yarn_resource_value(const Hadoop__ResourceProto *resource, const char *name);
/* NULL: nothing. */
struct share yarn_share_of(const Hadoop__ResourceProto *resource);

#endif
