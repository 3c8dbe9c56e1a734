/* The jobs that have ended: out of the histories, and those of which none is there (yet). */
#ifndef TONY_CLIENT_ENDED_JOBS_H
#define TONY_CLIENT_ENDED_JOBS_H

#include <stdbool.h>

#include "history/summary.h"
#include "scheduler/job_stores.h"

/* Which are wanted; NULL and 0: all. */
struct ended_filter {
	const char *location; /* this store alone */
	const char *user;
	const char *name; /* a pattern: "mnist*" */
	const char *state;
	int64_t since_ms; /* submitted then or later */
	int64_t until_ms; /* submitted before; 0: whenever */
	size_t most;	  /* the newest ones */
	bool with_open;	  /* also TonY's that have not ended, as far as is known */
	/* Gets each, in any order, in place of `items`; NULL: none. */
	void (*visit)(void *data, const struct history_summary *job);
	void *data;
};

struct ended_jobs {
	struct history_summary *items; /* the newest first */
	size_t count;
	/* Why jobs may be missing, of which the user was warned: a scheduler, or a history, that
	 * does not tell. ERR_NONE: all do. */
	enum err_kind failure;
	size_t closed; /* entries of other users that this one may not read */
};
void ended_jobs_finish(struct ended_jobs *jobs);
#define cleanup_ended_jobs __attribute__((cleanup(ended_jobs_finish)))

/* What cannot be read is warned of, and passed over. */
int ended_jobs_find(const struct ended_filter *filter, struct ended_jobs *jobs, struct err *err);
/* Those alone that are in a history. */
int ended_jobs_stored(const struct ended_filter *filter, struct ended_jobs *jobs, struct err *err);

#endif
