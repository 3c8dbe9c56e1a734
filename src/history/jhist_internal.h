#ifndef TONY_HISTORY_JHIST_INTERNAL_H
#define TONY_HISTORY_JHIST_INTERNAL_H

#include <jansson.h>

#include "history/jhist.h"

/* One Event: {"type", "event": {"$record", ...}, "timestamp"}. */
struct jhist_event {
	const char *kind; /* "TASK_STARTED" */
	const json_t *body;
	int64_t time_ms;
};
/* False: it is none. */
bool jhist_event_of(const json_t *record, struct jhist_event *event);

/* The task that it is of; -1: the job has no such one. */
int64_t jhist_event_task(const struct job *job, const struct jhist_event *event);
const char *jhist_event_text(const struct jhist_event *event, const char *member); /* or NULL */

/* The job, of the configuration and the tasks that events name. NULL: `err`. */
struct job *jhist_job(const struct jhist_source *source, const struct jhist_name *name,
		      const json_t *records, struct err *err);

/* The journal; *state becomes final where an event says so. -1: `err`. */
int jhist_journal(const struct job *job, const struct jhist_name *name, const json_t *records,
		  enum job_state *state, struct err *err);

/* Lines of metrics.jsonl; the caller frees. */
char *jhist_metrics(const struct job *job, const json_t *records);
/* What the types have used, into the summary. */
void jhist_measure(const struct job *job, const json_t *records, struct history_summary *summary);

#endif
