/*
 * What the scheduler tells an executor, all by environment. See tony-env(7).
 *
 * Where job, token and directories are is the scheduler's own way (scheduler_container_ops).
 */
#ifndef TONY_EXECUTOR_SETTINGS_H
#define TONY_EXECUTOR_SETTINGS_H

#include <stdbool.h>

#include "base/err.h"
#include "framework/environment.h"
#include "job/job.h"
#include "scheduler/scheduler.h"

struct settings {
	struct job *job;
	size_t type;
	int index;
	int attempt;
	char *token;
	char *work_dir;	     /* where the program runs: the job's, or scratch_dir */
	char *scratch_dir;   /* the task's own: the current directory of the executor */
	char *agent;	     /* this program's file */
	char *container_dir; /* for cluster.json and secrets: its owner's only */
	char *log_dir;	     /* for stdout and stderr */
	char *token_file;
	char *preempted_file; /* TONY_PREEMPTED: is there once the container is taken back */
	char *progress_file;  /* TONY_PROGRESS_FILE of the first process (progress.h) */
	char *metrics_file;   /* TONY_METRICS_FILE; NULL: nothing is measured */
	/* Where the checkpoints are kept, a remote store; job->checkpoint_dir is then this
	 * container's copy. NULL: job->checkpoint_dir is the place itself. */
	char *checkpoint_url;
	/* The same of the job's results, and the task's directory there. */
	char *output_url, *output_name;
	/* Borrowed from the environment: */
	const char *task;	/* "worker:0" */
	const char *am_address; /* HOST:PORT, in the beginning */
	const char *host;	/* where others reach the task */
	const char *container;	/* the mark's value */
	const char *cgroup;	/* the task's control group; NULL: none */
	bool memory_watch;	/* nobody else enforces the memory limit */
	int lifeline; /* a descriptor that ends when the job's AM is gone for good; -1: none */
	const struct scheduler_ops *scheduler; /* the one that started this executor */
	int64_t kill_notice_ms;		       /* scheduler_container */
};

int settings_read(struct settings *settings, struct err *err);
void settings_finish(struct settings *settings);

/* This process's environment without what is the executor's alone. */
void settings_copy_environment(struct environment *environment);

#endif
