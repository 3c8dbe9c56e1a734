/*
 * Which process is a container's executor, for an AM that did not start it: a file in the
 * container's directory, written by that process before it becomes the executor. Where there is
 * none when an AM looks, none of an earlier AM's can become one any more: so it may launch one.
 */
#ifndef TONY_SCHEDULER_LAUNCH_RECORD_H
#define TONY_SCHEDULER_LAUNCH_RECORD_H

#include "base/err.h"
#include "base/proc.h"
#include "base/str.h"

struct launch_record {
	int am_attempt; /* which AM launched it */
	struct proc_id executor;
	char *cgroup; /* NULL: none */
	struct str_list gpus;
};
void launch_record_finish(struct launch_record *record);
#define cleanup_launch_record __attribute__((cleanup(launch_record_finish)))

/* What the file says. The caller frees. */
char *launch_record_text(const struct launch_record *record);
/* `record` is empty before. */
int launch_record_parse(const char *text, size_t length, struct launch_record *record,
			struct err *err);

/* For the process that is to become the executor. -1: it must not. */
int launch_record_write(const char *container_dir, const struct launch_record *record,
			struct err *err);

enum launch_state {
	LAUNCH_NEVER, /* no executor was started, nor will be but by AM `am_attempt` or a later one
		       */
	LAUNCH_DONE,  /* `record` tells */
	LAUNCH_OVER,  /* nothing is left of the container */
};

/* -1: nobody can tell. */
int launch_record_find(const char *container_dir, int am_attempt, struct launch_record *record,
		       struct err *err);

/* Whether there is one of a container that was not LAUNCH_OVER when it was last heard of. */
bool launch_record_is_open(const char *container_dir);

/* The container is LAUNCH_OVER. */
void launch_record_close(const char *container_dir);

#endif
