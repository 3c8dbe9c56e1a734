/* The jobs of all schedulers, and of the histories: what tony list shows, and others choose from.
 */
#ifndef TONY_CLIENT_JOB_LIST_H
#define TONY_CLIENT_JOB_LIST_H

#include "scheduler/job_stores.h"
#include "scheduler/scheduler.h"

/* NULL and false: any. */
struct job_list_filter {
	/* With live_only: lists jobs that ended at this time or later, too. 0: none.
	 * SCHEDULER_AS_KNOWN, without live_only: for a hint. No history is read. */
	int64_t ended_since_ms;
	int64_t patience_ms;		 /* with a scheduler that does not answer; 0: its own */
	const struct job_stores *stores; /* opened for all jobs; NULL: opened here */
	bool live_only;	  /* no ended jobs; false: also those that only a history still has */
	bool own_only;	  /* no jobs of other users, whose entries a history may have, too */
	const char *user; /* ANY_USER: also the jobs of others that a scheduler tells of */
	const struct str_list *states; /* a job is in one of these (job_state_name()) */
	const struct str_list *tags;   /* a job has all of these */
	const struct str_list *words;  /* a job has one of these as id, its beginning, or name */
};

struct job_list {
	struct job_summary *items; /* the newest first */
	size_t count;
	/* Of a scheduler that did not answer, which was warned of: its jobs are missing. ERR_NONE:
	 * all have answered. */
	enum err_kind failure;
};
void job_list_finish(struct job_list *list);
#define cleanup_job_list __attribute__((cleanup(job_list_finish)))

/* A job that cannot be read is warned of, and passed over. */
int job_list_find(const struct job_list_filter *filter, struct job_list *list, struct err *err);

/* Adds the ended jobs of the sweeps, pipelines and arrays of which the list of live jobs has some,
 * for job_list_fold() to count. */
int job_list_complete_families(const struct job_list_filter *filter, struct job_list *list,
			       struct err *err);

/* The ids of an array's jobs, the first one first, or that of one of them (job_array.h). -1: there
 * is none. */
int job_list_find_array(const char *word, struct str_list *ids, struct err *err);

/* The same with one job in place of each sweep with its trials, and of each pipeline or array. Its
 * name tells how many there are in each state; a pipeline or array has its id, the state that
 * matters most, and the word of a job in that state. */
void job_list_fold(const struct job_list *list, struct job_list *folded);
/* False: nothing of it folds. */
bool job_list_has_families(const struct job_list *list);

/* The id of the newest sweep, pipeline or array whose row has that name; NULL: there is none. A
 * part of the list. */
const char *job_list_family_named(const struct job_list *list, const char *name);
/* Of an array of which this user has no job: says whose it is, if any user has. Returns -1. */
int job_list_explain_array(const char *word, struct err *err);
/* Of a word that no job has: says of which pipeline or array it is the name. */
void job_list_explain_name(const char *word, struct err *err);

/* As struct job_list_filter has it; one of an array's form is that array alone, and no name. */
bool job_list_has_word(const struct job_summary *job, const char *word);
/* A scheduler may keep tags in small letters, so these are the same in any case. */
bool job_list_has_tags(const struct job_summary *job, const struct str_list *tags);

#endif
