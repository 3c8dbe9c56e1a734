/*
 * What lists, searches and comparisons know of a finished job: summary.json, some 2 KiB.
 *
 *   {"format": 1, "id", "name", "user", "framework", "scheduler", "queue", "tags": [],
 *    "submitted_ms", "begun_ms", "forming_ms", "running_ms", "ended_ms",
 *    "state": "succeeded|failed|killed",
 *    "epoch", "retries", "infrastructure_retries", "am_attempt", "message",
 *    "cause": {...} (job/cause_json.h), "cause_task": "worker:0", "task_count": N, "bytes": N,
 *    "types": [{"name", "instances", "memory_mib", "vcores", "gpus", "max_rss_bytes",
 *               "max_pss_bytes", "p95_rss_bytes", "average_cpu_percent", "average_gpu_percent",
 *               "longest_silence_ms", "late_beats", "container_ms"}],
 *    "view_acl": "..."}
 *
 * What is not known is left out. Times are wall-clock ms. The file has the number as "tasks", too:
 * older programs read no other name, and older files have no other.
 */
#ifndef TONY_HISTORY_SUMMARY_H
#define TONY_HISTORY_SUMMARY_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "job/machine.h"
#include "job/view.h"

#define HISTORY_SUMMARY_FORMAT 1
#define HISTORY_SUMMARY_CAP    (1u << 20) /* bytes of a summary.json */

struct history_type {
	char *name;
	int instances;
	int64_t memory; /* MiB, asked for by each task */
	int vcores, gpus;
	/* Over all attempts of all tasks; 0: not known. */
	int64_t max_rss_bytes, max_pss_bytes;
	int64_t p95_rss_bytes;
	/* Whole percents; -1: not known. */
	int64_t average_cpu_percent; /* 100: one core */
	int64_t average_gpu_percent; /* 100: all GPUs that a task had */
	/* Of executors: the longest between two beats, and how many came after two intervals. */
	int64_t longest_silence_ms, late_beats;
	int64_t container_ms; /* as in struct type_view; -1: not known */
};

struct history_summary {
	char *id, *name, *user, *framework;
	char *scheduler, *queue; /* NULL: none */
	struct str_list tags;
	int64_t submitted_ms, begun_ms, running_ms, ended_ms; /* 0: never */
	int64_t forming_ms;   /* it asked for containers; 0: not known */
	enum job_state state; /* final; of a job of TonY's that has not ended: JOB_RUNNING */
	int epoch, retries, infrastructure_retries, am_attempt;
	char *message;	    /* one line; NULL: none */
	struct cause cause; /* the first; kind CAUSE_NONE: none */
	char *cause_task;   /* "worker:0"; NULL: it is the job's own, or there is none */
	int64_t task_count;
	int64_t bytes; /* of the job's history, without the summary; 0: not known */
	struct history_type *types;
	size_t type_count;
	char *view_acl; /* job_view_acl() */
	char *owner;	/* of the store's entry that it was read from; NULL: it has none */
};
void history_summary_finish(struct history_summary *summary);
#define cleanup_history_summary __attribute__((cleanup(history_summary_finish)))

/* Of a job that has ended; what was used is left open. `summary` is overwritten. */
void history_summary_of(const struct job_view *view, struct history_summary *summary);

json_t *history_summary_to_json(const struct history_summary *summary);

/* Reads and checks, as if written by an enemy. On failure `summary` needs no finishing. */
int history_summary_from_text(const char *bytes, size_t length, struct history_summary *summary,
			      struct err *err);

#endif
