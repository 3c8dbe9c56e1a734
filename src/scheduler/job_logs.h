/*
 * What the containers of a job have left, where it is not in files of this machine: a cluster keeps
 * it. Found by struct scheduler_client_ops.
 */
#ifndef TONY_SCHEDULER_JOB_LOGS_H
#define TONY_SCHEDULER_JOB_LOGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"

/* One log of one container, in parts, oldest first: it was rotated, or kept piece by piece. The
 * first member of every scheduler's own struct. */
struct job_log {
	const struct job_log_ops *ops;
	struct job_log_part {
		int64_t length;
		bool has_times; /* there is an index beside it: executor/log_times.h */
	} * parts;
	size_t count;
	int64_t cut; /* bytes that stood before these, and were not kept */
};

struct job_log_ops {
	/* Up to `length` bytes of a part, or of the index beside it; 0: it ends before; -1: error.
	 * Going on where the last read ended costs nothing, anything else may. */
	ssize_t (*read)(struct job_log *log, size_t part, bool times, int64_t offset, void *bytes,
			size_t length, struct err *err);
	void (*destroy)(struct job_log *log);
};
void job_log_destroy(struct job_log *log); /* NULL is fine */

/* The first member of every scheduler's own struct. */
struct job_logs {
	const struct job_logs_ops *ops;
	bool has_ends; /* nothing but ends, of the last container that each task had */
};

struct job_logs_ops {
	/* The log `name` ("stdout") of a container that ran on `host` (NULL: not known). The job's
	 * logs are to outlive it. NULL: `err`; ERR_NOT_FOUND: there is none (yet). */
	struct job_log *(*open)(struct job_logs *logs, const char *container, const char *host,
				const char *name, struct err *err);
	/* The log of the job's AM of this attempt (from 1). `container` and `host` as above; NULL:
	 * not known. If the AM never ran, it is the scheduler's own diagnostics. NULL: `err`;
	 * ERR_NOT_FOUND: nothing is kept. */
	struct job_log *(*open_am)(struct job_logs *logs, int attempt, const char *container,
				   const char *host, struct err *err);
	void (*destroy)(struct job_logs *logs);
};
void job_logs_destroy(struct job_logs *logs); /* NULL is fine */

/* A log that consists of this text, which is copied. The caller destroys it. */
struct job_log *job_log_of_text(const char *text);

/* Which of these files are parts of the log `name`, oldest first: "stdout.2", "stdout.1",
 * "stdout". Adds their indexes in `names` to *parts, which the caller frees; returns their
 * number. */
size_t job_logs_parts(const struct str_list *names, const char *name, size_t **parts);

#endif
