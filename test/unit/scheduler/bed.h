/*
 * A bed for the AM's side of the local scheduler: jobs with an event loop of their own, and what
 * the scheduler tells them as text.
 *
 * The executor is this test program itself, called as "tony-agent exec": bed_executor() does what
 * the variable STAND_IN says. It leaves the files `pid` and `env` in its container's directory.
 */
#ifndef TONY_TEST_UNIT_SCHEDULER_BED_H
#define TONY_TEST_UNIT_SCHEDULER_BED_H

#include <event2/event.h>

#include "base/str.h"
#include "scheduler/scheduler.h"

struct bed {
	struct job job;
	char *dir;
	struct event_base *base;
	struct scheduler *scheduler;
	struct scheduler_hold hold;
	struct str log;	     /* "allocated worker:0/1\n", "noted TEXT\n" ... */
	char *waiting;	     /* as last told, with the names of jobs for their ids */
	struct cause *cause; /* of the last end */
	char *refusal;
};

/* Types as "worker=2:64" (instances, MiB) or "worker=2:64:1" (GPUs each); `config` as JSON text.
 * The state directory is *state's scratch directory, and the job's in it is jobs/NAME. */
struct bed *bed_open(void **state, const char *name, enum job_mode mode, const char *types,
		     const char *config);
void bed_close(struct bed *bed); /* with the scheduler, if it is still open */
void bed_close_scheduler(struct bed *bed);

/* "worker:0 worker:1": asks for attempt 1 of these together, or for the attempt after a slash;
 * "worker:2?" is optional. */
void bed_request(struct bed *bed, const char *tasks);
void bed_cancel(struct bed *bed, const char *task);
void bed_launch(struct bed *bed, const char *task);
void bed_release(struct bed *bed, const char *task, int64_t grace_ms);

/* Runs the loops of all open beds until the log has the line, or fails. */
void bed_wait(struct bed *bed, const char *line);
void bed_wait_waiting(struct bed *bed, const char *part); /* NULL: nothing waits */
/* Runs them until a file of the container is there, whole; the caller frees its text. */
char *bed_wait_file(struct bed *bed, const char *container, const char *name);
bool bed_logged(const struct bed *bed, const char *line);
/* Runs what is due in the loops of all open beds. */
void bed_turn(void);

/* The number in a file of the container, once it is there. */
pid_t bed_wait_pid(struct bed *bed, const char *container, const char *name);
/* A variable of the executor's environment; the caller frees. NULL: not set. */
char *bed_variable(struct bed *bed, const char *container, const char *name);

int bed_executor(void);

#endif
