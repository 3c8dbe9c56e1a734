/* What the ResourceManager tells of this user's jobs, and where their files are. */
#ifndef TONY_SCHEDULER_YARN_REPORTS_H
#define TONY_SCHEDULER_YARN_REPORTS_H

#include "scheduler/yarn_client.h"

/* Newest first; they belong to `message`. */
struct yarn_reports {
	ProtobufCMessage *message;
	const Hadoop__ApplicationReportProto **items;
	size_t count;
};

/* Without those that were removed (yarn_removed_note()). */
int yarn_reports_ask(const struct hadoop_cluster *cluster, struct yarn_reports *reports,
		     struct err *err);
/* The same of `user`, or of ANY_USER. */
int yarn_reports_ask_of(const struct hadoop_cluster *cluster, const char *user,
			struct yarn_reports *reports, struct err *err);
void yarn_reports_finish(struct yarn_reports *reports);
#define cleanup_yarn_reports __attribute__((cleanup(yarn_reports_finish)))

/* Sets where the job's files are, and where it is published unless that is known. Another user's
 * lies in that user's home. `report` NULL: it is forgotten, and this user's. */
void yarn_take_place(struct hadoop_cluster *cluster, const char *id,
		     const Hadoop__ApplicationReportProto *report);

/* A job that was killed from outside had nobody to publish its end and to remove its secret. Does
 * that for some of them each time: whoever looks does not wait long for it. */
void yarn_sweep(struct hadoop_cluster *cluster, const struct yarn_reports *reports);

/* ---- yarn_list.c -------------------------------------------------------------------------- */

/* Sets state and what it waits for of those `jobs` that have not ended, one for each report, as
 * their AMs say; of one that does not answer at once as this machine has heard last. The
 * ResourceManager knows of an AM that it is there, and no more. */
void yarn_running_ask(struct hadoop_cluster *cluster, const struct yarn_reports *reports,
		      struct job_summary *jobs);

/* ---- yarn_removed.c: <state>/removed/<application id> ------------------------------------- */

void yarn_removed_note(const char *id);
char *yarn_removed_directory(void); /* the caller frees; NULL: there can be none */
bool yarn_removed_has(const char *directory, const char *id);
void yarn_removed_age(int64_t now_ms); /* forgets those of a year ago */

#endif
