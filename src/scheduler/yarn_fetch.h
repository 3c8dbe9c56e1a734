/* What lies in a cluster's HDFS, for jobs that do not run on the cluster. */
#ifndef TONY_SCHEDULER_YARN_FETCH_H
#define TONY_SCHEDULER_YARN_FETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct job;

/* Brings the file or directory at `uri` (hdfs:...) to this machine as `target`, which must not be
 * there: see webhdfs_fetch(). The cluster is that of the site files and of the keys of `job`. */
int yarn_fetch(const struct job *job, const char *uri, const char *target, struct err *err);

/* Is it there? A file that stage() has sent is kept for as long as if it had been sent now. -1:
 * ERR_NOT_FOUND, or what kept HDFS from answering. The cluster is as for yarn_fetch(). */
int yarn_fetch_keep(const struct job *job, const char *uri, struct err *err);

/* A file of at most `cap` bytes, appended to `bytes`. The cluster is that of the site files and of
 * the keys in tony-site.xml. */
int yarn_fetch_text(const char *uri, size_t cap, struct str *bytes, struct err *err);

struct yarn_results_watch {
	/* Whether the file `name`, "worker-0/model", need not be fetched. */
	bool (*is_there)(void *data, const char *name, int64_t length, int64_t modified_ms);
	/* How many bytes have come, of all that are to come. False ends it (ERR_FAILED). */
	bool (*progress)(void *data, int64_t bytes, int64_t total);
	void *data;
};

/* Brings what tasks have stored below job->output_dir, which is in HDFS, to `target`, which must
 * not be there: a directory for each task. The cluster is the job's. 1: nothing is stored (yet). */
int yarn_fetch_results(const struct job *job, const char *target,
		       const struct yarn_results_watch *watch, struct err *err);

/* Brings how the code of `job` differed from its commit to `job_dir`, this machine's copy of that
 * job, from its directory in HDFS or from its history. The cluster is the job's. 0 also where it is
 * there already, or the job has none. */
int yarn_fetch_diff(const struct job *job, const char *job_dir, struct err *err);

#endif
