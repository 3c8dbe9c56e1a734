/*
 * What TonY (0.4 and 0.5) has left of a job: a directory with
 *
 *   <application id>-<started ms>-<completed ms>-<user>-<STATUS>.jhist    of a job that has ended
 *   <application id>-<started ms>-<user>.jhist.inprogress                 of one that has not, or
 *                                                                         whose AM was killed
 *   tony-final.xml, or config.xml
 *
 * A .jhist is an Avro file of events (com.linkedin.tony.events.Event): APPLICATION_INITED (again
 * with every retry), TASK_STARTED, TASK_FINISHED with the task's metrics, APPLICATION_FINISHED.
 * Older ones have no events of tasks. It is told as a job of tony's own would be, as far as that
 * goes.
 */
#ifndef TONY_HISTORY_JHIST_H
#define TONY_HISTORY_JHIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "history/summary.h"
#include "job/job.h"

#define JHIST_CONFIG_CAP ((size_t)16 << 20) /* bytes of a tony-final.xml */

/* What a file's name says. */
struct jhist_name {
	char *id, *user;
	int64_t started_ms, completed_ms; /* completed: 0: it did not */
	enum job_state state;		  /* JOB_RUNNING: it has not ended */
};
/* False: it is no name of a .jhist. */
bool jhist_name_parse(const char *file, struct jhist_name *name);
void jhist_name_finish(struct jhist_name *name);

struct jhist_source {
	const char *name; /* the file's */
	const char *events;
	size_t length;
	const char *config; /* NULL: none */
	size_t config_length;
};

struct jhist {
	struct job *job;
	int events;    /* a journal (job/journal.h), in a file without a name */
	char *metrics; /* lines, as metrics.jsonl has them */
	struct history_summary summary;
};

/* On failure `jhist` needs no finishing. A file that is damaged behind its first events is told as
 * far as it goes. */
int jhist_read(const struct jhist_source *source, struct jhist *jhist, struct err *err);
void jhist_finish(struct jhist *jhist);

#endif
