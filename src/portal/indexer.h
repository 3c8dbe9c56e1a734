/*
 * Keeps the index (index.h) up to date, in a process of its own: looks through the stores, day by
 * day, the newest first, reads what is new, forgets what is gone, and notes which jobs the
 * schedulers know. What has a job's place but cannot be shown as one is noted as damaged. Whoever
 * lists those closes jobs whose AM is gone for good. Now and then it removes from the stores what
 * is too old or too much.
 */
#ifndef TONY_PORTAL_INDEXER_H
#define TONY_PORTAL_INDEXER_H

#include "history/retain.h"
#include "history/store.h"
#include "portal/index.h"

struct job_summary;
struct job_door;
struct scheduler_client_ops;

struct indexer {
	const char *index_path;
	const char *location; /* of the one store; NULL: all of the user's */
	/* As scheduler_client_ops.list(), of all schedulers. */
	int (*list_jobs)(int64_t ended_since_ms, struct job_summary **jobs, size_t *count,
			 struct err *err);
	/* As reader_setup's. */
	const struct scheduler_client_ops *(*find_job)(const char *id, struct job_door *door,
						       char **full_id, struct err *err);
	struct history_retention retention; /* 0: no limit */
	int64_t retain_interval_ms;	    /* between two removals */
};

/* One look at a store. */
int indexer_look(struct portal_index *index, struct history_store *store, struct err *err);

/* Never returns. */
_Noreturn void indexer_run(const struct indexer *indexer);

#endif
