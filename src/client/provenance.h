/*
 * Where a job's code comes from: the git commit and branch of its directory, which tracked files
 * differ from that commit, the difference itself, and the hashes of the files that its command
 * names. A process of its own finds it out beside the submission, which waits for it for a moment
 * at most.
 *
 * Of git nothing is run that a repository could name: no hook, filter, external difference or text
 * conversion of its own, no pager, no fsmonitor; and nothing is written into it, or fetched.
 * Without git, or outside of a repository, nothing of it is recorded.
 */
#ifndef TONY_CLIENT_PROVENANCE_H
#define TONY_CLIENT_PROVENANCE_H

#include "client/describe.h"
#include "client/opened.h"
#include "client/stage.h"

#define PROVENANCE_FILES_MAX 100 /* that are named of those that differ */

struct provenance {
	pid_t pid; /* 0: nobody is asked, or there was nothing to ask for */
	int answer;
	int64_t begun_ms; /* monotonic */
	bool is_whole;	  /* the answer has been read to its end */
	struct str text;
	char *earlier; /* the directory of the job whose sources these are; NULL: they are none's */
};

/* Begins to find it out, as tony.application.provenance says, of a job that has its place. Fills a
 * zeroed `provenance`. */
void provenance_begin(struct provenance *provenance, const struct description *description,
		      const struct stage *stage);
/* In its place: the sources are those of an earlier job, which has recorded it. */
void provenance_inherit(struct provenance *provenance, const struct opened *earlier,
			struct job *job);
/* Sets job->provenance to what is known by now, or will be until `limit_ms` after the beginning.
 * False: more is to come. */
bool provenance_take(struct provenance *provenance, struct job *job, int64_t limit_ms);
/* Writes the difference, if there is one, beside job.json, unless there is no room. */
void provenance_write_diff(const struct provenance *provenance, const char *job_dir);
/* Adds the files of a job that ran in place which have changed since it was submitted, by what it
 * recorded of them; none where that is not known within two seconds. */
void provenance_changes(const struct job *job, struct str_list *names);
/* Ends the process: the rest is never known. */
void provenance_finish(struct provenance *provenance);
#define cleanup_provenance __attribute__((cleanup(provenance_finish)))

#endif
