/*
 * The end of a job on YARN whose last AM could not tell it: a client that looks at the job writes
 * the last line into its mirror (yarn_client.h). Notices of the end take long: the client leaves
 * them to a process that outlives it, `tony-agent am --job-dir MIRROR`, which publishes then.
 */
#ifndef TONY_SCHEDULER_YARN_END_H
#define TONY_SCHEDULER_YARN_END_H

#include "base/err.h"
#include "hadoop/cluster.h"
#include "job/job.h"
#include "scheduler/scheduler.h"

/* In a mirror: this job was submitted with it, so that what the description says is its owner's
 * word. A description that was fetched is what somebody has written into HDFS. */
#define YARN_END_SUBMITTED_HERE "submitted"

/* Finds the mirror's journal, and says for as long as this process lives that it is at it
 * (state_dir_is_held()). -1 also where another process is, and where the job has not ended. */
int yarn_end_find(const char *mirror, struct scheduler_place *place, struct err *err);

/* Brings to `location` what the mirror tells of the job. */
int yarn_end_publish_at(const struct hadoop_cluster *cluster, const char *location,
			const struct job *job, const char *mirror, struct err *err);

/* The same to the job's own place, for the process above; then removes the job's directory in
 * HDFS. */
void yarn_end_publish(const struct job *job, const char *mirror);

#endif
