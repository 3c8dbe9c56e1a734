/* Removing ended jobs: what `tony rm` and `tony clean` have in common. */
#ifndef TONY_CLIENT_CLEARING_H
#define TONY_CLIENT_CLEARING_H

#include <jansson.h>

#include "base/map.h"
#include "scheduler/job_stores.h"
#include "scheduler/removal.h"
#include "scheduler/scheduler.h"

struct clearing {
	bool is_dry, with_history, as_json;
	struct removal removal;
	struct job_stores stores; /* opened where the history is to go */
	struct map *jobs;	  /* the ids of those removed */
	struct map *staying;	  /* of those that were not */
	struct map *told;	  /* the warnings about them */
	struct map *users; /* by a job's id, that of a live job which uses its results; NULL: not
			    * looked for yet */
	json_t *rows;
	int64_t bytes;	     /* of all */
	int64_t cache_bytes; /* of what was sent to a cluster */
	size_t failed;	     /* jobs, or caches, that could not be removed */
	size_t kept;	     /* jobs that stay, since nothing else tells of them */
};
#define cleanup_clearing __attribute__((cleanup(clearing_finish)))

int clearing_begin(struct clearing *clearing, struct err *err);
void clearing_finish(struct clearing *clearing);

/* Before the first of them is removed: jobs that use each other's folders go together. */
void clearing_choose(struct clearing *clearing, const struct str_list *ids);

/* Whether clearing_remove() would be refused: before another job goes that is of no use without it.
 */
int clearing_check(struct clearing *clearing, const struct scheduler_client_ops *ops,
		   const char *id, const struct job *job, struct err *err);

/* Removes what is left of an ended job; tells it unless `as_json`. `ops` NULL: nothing but its
 * history is left. `job` (NULL: not known): its description, which says where its history is. */
int clearing_remove(struct clearing *clearing, const struct scheduler_client_ops *ops,
		    const char *id, const struct job *job, struct err *err);

/* Of what was sent to this scheduler's cluster: what no job has used for so long. */
int clearing_age_cache(struct clearing *clearing, const struct scheduler_client_ops *ops,
		       int64_t max_age_ms, struct err *err);

/* removal_sweep() of all folders of jobs in the state directory `state`. */
size_t clearing_sweep(const char *state, bool is_dry, struct err *err);

/* After the last job: removes cached sources that only these jobs used. With `max_age_ms` >= 0 it
 * also removes what no job used for that long, and copies out of histories of that age. Prints the
 * totals, or all of it as JSON. -1: `err` names what could not be removed now; with `max_age_ms`
 * also what earlier removals left, of which there is a warning without it. */
int clearing_end(struct clearing *clearing, int64_t max_age_ms, struct err *err);

#endif
