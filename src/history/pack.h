/*
 * A finished job's history, put together in a directory of this machine: what publish.h then brings
 * to the store. layout.h names the files.
 *
 * Of the logs the ends are kept, those of tasks that failed first and longest. A kept log begins
 * with one line, its head:
 *
 *   {"task": "worker:0", "attempt": 2, "log": "stdout", "bytes": 1073741824, "from": 1073479680}
 *
 * and then has the log's bytes from `from` on, of the `bytes` that were written, rotated files and
 * what was rotated away included. Beside it "<log>.times" is the index of times
 * (executor/log_times.h), with the offsets of the kept file behind its head.
 */
#ifndef TONY_HISTORY_PACK_H
#define TONY_HISTORY_PACK_H

#include <jansson.h>

#include "base/err.h"
#include "history/summary.h"
#include "job/job.h"

#define HISTORY_LOG_CAP	  (256 << 10) /* bytes kept of one log, without its head */
#define HISTORY_LOG_LEAST (4 << 10)   /* where not even so much is to be had, none is kept */
#define HISTORY_LOGS_CAP  (64 << 20)  /* bytes kept of all of a job's */
#define HISTORY_HEAD_CAP  1024	      /* bytes of a head, its newline included */

struct history_pack {
	const struct job *job;
	const char *journal; /* path; it has its last line */
	/* Below: NULL where there is no such thing. */
	const char *metrics; /* path of a file that is metrics.jsonl as it is */
	const char *diff;    /* path of source.diff, if there is such a file */
	/* Writes metrics.jsonl to `fd`. */
	int (*write_metrics)(void *data, int fd, struct err *err);
	/* Fills in what the types have used; NULL: that is told from `metrics`. */
	void (*measure)(void *data, struct history_summary *summary);
	/* Path of a log ("stdout", "executor.log") of the task's last container; NULL: this machine
	 * cannot read it. The caller frees. */
	char *(*log_path)(void *data, size_t task, int attempt, const char *name);
	void *data;
};

/* Makes `directory` anew. On failure nothing of it is left. */
int history_pack(const struct history_pack *pack, const char *directory, struct err *err);

/* A job's description without its secrets. `for_others`: also without the values of environment
 * variables, which job->config does not have either. */
json_t *history_description(const struct job *job, bool for_others);
/* job->config, where secrets are masked, as Hadoop's configuration files have it; the caller frees.
 */
char *history_configuration(const struct job *job);

/* The head of a kept log. */
struct history_log_head {
	char *task, *log;
	int attempt;
	int64_t bytes, from;
};
void history_log_head_finish(struct history_log_head *head);
/* The length of the head at the beginning of `bytes`, newline included; 0: there is none. */
size_t history_log_head_read(const char *bytes, size_t length, struct history_log_head *head);

#endif
