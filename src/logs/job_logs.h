/*
 * The logs of a job, where its containers have left them: struct scheduler_client_ops, or a
 * history (history/stored_logs.h), knows where.
 */
#ifndef TONY_LOGS_JOB_LOGS_H
#define TONY_LOGS_JOB_LOGS_H

#include "base/err.h"
#include "base/str.h"
#include "logs/answer.h"
#include "logs/source.h"

/* The container that a task had. */
struct log_place {
	const char *type; /* of the task, and its index there */
	int index;
	int attempt;		      /* of the task, from 1; 0: the last that it had */
	const char *container, *host; /* as the job's journal has them; NULL: not known */
};

/* The first member of every engine's own struct. */
struct job_logs {
	const struct job_logs_ops *ops;
	bool has_ends;		 /* nothing but ends, of the last container that each task had */
	bool are_here;		 /* in files of this machine, which are followed by reading on */
	enum log_answer missing; /* of the last ERR_NOT_FOUND when one was opened */
	int64_t patience_ms;	 /* how long logs that are on their way are waited for in all */
};

struct job_logs_ops {
	/* The log in the file `name` ("stdout", "executor.log") of a container. The job's logs are
	 * to outlive it. NULL: `err`; ERR_NOT_FOUND: see `missing`. */
	struct log_source *(*open)(struct job_logs *logs, const struct log_place *place,
				   const char *name, struct err *err);
	/* The log of the job's AM of this attempt (place->attempt). If the AM never ran, it is the
	 * scheduler's own diagnostics. NULL: `err`; ERR_NOT_FOUND: nothing is kept. */
	struct log_source *(*open_am)(struct job_logs *logs, const struct log_place *place,
				      struct err *err);
	/* Adds the names of the logs of a container that are there ("executor"). NULL: that is
	 * known only when they are opened. */
	int (*list)(struct job_logs *logs, const struct log_place *place, struct str_list *names,
		    struct err *err);
	/* The directory of this machine in which a container's logs (NULL: the containers'
	 * directories) come; the caller frees. NULL: they are not here. */
	char *(*directory)(const struct job_logs *logs, const struct log_place *place);
	void (*destroy)(struct job_logs *logs);
};
void job_logs_destroy(struct job_logs *logs); /* NULL is fine */

#endif
