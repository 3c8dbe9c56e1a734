/*
 * The index tells of ended jobs, in one file for each place that has thousands of them: a job that
 * has ended does not change any more, so its files are read once. A place of its own tells of live
 * jobs, as they were when their journals were last written. <state>/index/ is a cache: a file that
 * is gone, damaged or of another version is made anew, and a failure to write it is nobody's
 * trouble.
 */
#ifndef TONY_SCHEDULER_JOB_INDEX_H
#define TONY_SCHEDULER_JOB_INDEX_H

#include "scheduler/scheduler.h"

struct job_index_entry {
	struct job_summary job;
	int64_t stamp; /* says of which state of the job's directory this was read */
};

/* The name of a section of jobs that live: all others are of jobs that have ended. */
#define JOB_INDEX_LIVE "live"

/* Jobs that are found together. */
struct job_index_section {
	char *name;
	int64_t stamp; /* of the whole section; 0: each of its jobs has to be looked at */
	struct job_index_entry *items;
	size_t count;
};

struct job_index {
	struct job_index_section *sections;
	size_t count;
};
void job_index_finish(struct job_index *index);
#define cleanup_job_index __attribute__((cleanup(job_index_finish)))

/* `place` names the file. Empty when nothing is known. */
void job_index_read(const char *place, struct job_index *index);
void job_index_write(const char *place, const struct job_index *index);
/* True if it pays to write an index of `jobs` jobs, of which `read_anew` were not in the old one.
 */
bool job_index_is_stale(size_t jobs, size_t read_anew);
size_t job_index_count(const struct job_index *index); /* of jobs */

/* NULL: there is no such section. */
struct job_index_section *job_index_find(const struct job_index *index, const char *name);
struct job_index_section *job_index_add(struct job_index *index, const char *name, int64_t stamp);
/* Takes the summary. */
void job_index_add_job(struct job_index_section *section, struct job_summary *job, int64_t stamp);

#endif
