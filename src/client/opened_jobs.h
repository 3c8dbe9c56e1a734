/* Several jobs that a verb looks at side by side: an AM that does not answer holds up no other job.
 */
#ifndef TONY_CLIENT_OPENED_JOBS_H
#define TONY_CLIENT_OPENED_JOBS_H

#include "client/opened.h"

struct opened_job {
	const char *word; /* borrowed; NULL: the newest job */
	struct opened opened;
	bool is_over;	      /* it could not be opened, or is of no more interest */
	bool is_ordered;      /* see opened_jobs_order() */
	bool is_frozen;	      /* its AM neither answered opened_jobs_greet() nor refused it */
	struct am_call *call; /* NULL: its AM is not being asked */
	int64_t next_ms;      /* monotonic: it is not asked before */
	bool is_noted;
};

struct opened_jobs {
	struct opened_job *items;
	size_t count;
	struct am_calls *calls;
	int code; /* the highest exit code so far */
	/* Set before they are found: how long what AMs on clusters have written since is waited
	 * for; 0: as long as it takes them usually. */
	int64_t news_ms;
};
#define cleanup_opened_jobs __attribute__((cleanup(opened_jobs_finish)))
void opened_jobs_finish(struct opened_jobs *jobs);

/* Opens those of job_choice_find(), each once and in their order, by opened_find() or what has its
 * shape. A failure is reported, and 1 says that the job is over. Behind EXIT_CODE_INTERRUPTED none
 * is opened. One job alone is opened as ever, and waited for. */
typedef int opened_jobs_open(struct opened *opened, const char *word, void *data, struct err *err);
void opened_jobs_find(struct opened_jobs *jobs, const struct str_list *words,
		      opened_jobs_open *open, void *data);

/* Takes the exit code of one of them. -1: `err` is reported. */
void opened_jobs_note(struct opened_jobs *jobs, int code, const struct err *err);

/* Asks the AMs of all jobs, or with `only_remote` of those alone that run on clusters, for a sign
 * of life, side by side. From then on nothing is asked of one that gave none within the limit.
 * Nothing is asked of one job alone. */
void opened_jobs_greet(struct opened_jobs *jobs, bool only_remote, int64_t limit_ms);
/* Leaves out the jobs that are over or frozen; a frozen one is reported. */
void opened_jobs_drop_failed(struct opened_jobs *jobs);

/* A request to the AM of each job. */
struct opened_order {
	const char *path, *body; /* of a POST; `body` may be NULL */
	/* 1: the AM is to be asked; 0: that is not needed; -1: `err`. NULL: it always is. */
	int (*before)(struct opened *opened, void *data, struct err *err);
	/* Where the AM could not be asked: whether there is no need any more. NULL: there is. */
	bool (*is_done)(struct opened *opened);
	/* Words what the job's failure is. Returns -1. */
	int (*fail)(const struct opened *opened, const struct err *failure, struct err *err);
	const char
		*advice; /* "tony kill --force %s ...", for when the AM has not answered in 1 s */
	void *data;
};
/* Asks them side by side, also an AM that is on its way. Each job is_ordered then, or its failure
 * is reported and it is_over. */
void opened_jobs_order(struct opened_jobs *jobs, const struct opened_order *order);

/* opened_follow() for all: `look` is called whenever one may have changed, and says when it is
 * over. Returns when all are, or at the timeout (negative: no limit). */
typedef void opened_jobs_look(struct opened_jobs *jobs, struct opened_job *job, void *data);
void opened_jobs_follow(struct opened_jobs *jobs, int64_t timeout_ms, opened_jobs_look *look,
			void *data);

#endif
