/*
 * Where a finished job's history is, and what is in it:
 *
 *   <location>/yyyy/MM/dd/<job id>/     the day (UTC) on which the job was submitted
 *     job.json          its description
 *     tony-final.xml    its effective configuration, in Hadoop's form
 *     events.jsonl      its journal, whole
 *     metrics.jsonl     one line for each attempt of a task; absent: none were taken
 *     sweep.json        of a sweep: its table of trials
 *     source.diff       how its code differed from the commit in job.json; absent: not, or not
 * known logs/<type>-<index>/<log>    the ends of its tasks' logs, with a head (pack.h) summary.json
 * how it ended (summary.h); a directory without it is no job's
 *
 * It appears at once: everything is written to yyyy/MM/dd/.<job id>.<attempt>/, which is then
 * renamed.
 */
#ifndef TONY_HISTORY_LAYOUT_H
#define TONY_HISTORY_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define HISTORY_JOB	"job.json"
#define HISTORY_CONFIG	"tony-final.xml"
#define HISTORY_EVENTS	"events.jsonl"
#define HISTORY_METRICS "metrics.jsonl"
#define HISTORY_DIFF	"source.diff"
#define HISTORY_SWEEP	"sweep.json" /* in the checkpoint directory of a sweep, too */
#define HISTORY_LOGS	"logs"
#define HISTORY_SUMMARY "summary.json"

#define HISTORY_DIFF_CAP  (256 << 10)		      /* bytes of source.diff */
#define HISTORY_SWEEP_CAP (64 << 20)		      /* bytes of sweep.json */
#define HISTORY_DIFF_TYPE "text/plain; charset=utf-8" /* to browsers */
#define HISTORY_NAME_CAP  255			      /* bytes of a directory's name */
#define HISTORY_ID_CAP	  64			      /* bytes of a job's id */
#define HISTORY_DAY_MS	  (86400000LL)

/* A name that can be a directory of the store's, be it read from a foreign one: letters, digits,
 * ".", "_", "-" and no dot first. */
bool history_is_name(const char *name);
/* A name that can be a job's id: it begins with a letter or digit, and no engine's are longer than
 * HISTORY_ID_CAP. */
bool history_is_id(const char *name);

/* "2026/11/21". The caller frees. */
char *history_day(int64_t submitted_ms);
/* "2026/11/21/<job id>". The caller frees. */
char *history_path(int64_t submitted_ms, const char *job_id);
/* "2026/11/21/.<job id>.<attempt>": where it is written. The caller frees. */
char *history_side_path(int64_t submitted_ms, const char *job_id, int attempt);

/* "worker-0": the directory of a task's logs. The caller frees. */
char *history_task_name(const char *type, int index);

/* When a job may have been submitted: at `first_ms` or later, and at `last_ms` or before. */
struct history_days {
	int64_t first_ms, last_ms; /* INT64_MAX: not known */
};

#endif
