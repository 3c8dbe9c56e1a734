/*
 * A bed for testing the state machine: builds small jobs in one line each and plays the scheduler
 * and the executors by hand. Time moves only when a test says so.
 */
#ifndef TEST_MACHINE_BED_H
#define TEST_MACHINE_BED_H

#include "job/machine.h"

struct bed {
	struct job *job;
	struct machine *machine;
	struct action_list actions; /* of the last event */
	int64_t now;
	const char *host; /* of what is allocated, or registers; NULL: 127.0.0.1 */
};

/* "worker=2 ps=1:untracked board=1:sidecar"; the defaults of a job: GANG, no retries. */
struct bed *bed_create(const char *types);
/* The same, with workers of 2 to 4; others are waited for BED_SETTLE_MS. */
struct bed *bed_create_elastic(const char *types);
enum { BED_SETTLE_MS = 10000 };
void bed_destroy(struct bed *bed);
struct job_type *bed_type(struct bed *bed, const char *name);
void bed_depend(struct bed *bed, const char *type, const char *on, bool on_start);

void bed_submit(struct bed *bed); /* after the job was adjusted */
size_t bed_task(const struct bed *bed, const char *name);
const struct task *bed_look(const struct bed *bed, const char *name);
struct machine_status bed_status(const struct bed *bed);

/* One event each, with the task's present attempt, epoch and restart; what the machine answered. */
bool bed_allocate(struct bed *bed, const char *name);
bool bed_register(struct bed *bed, const char *name);
/* Its executor obeyed a stop of `epoch` last, and has run a process of `process_epoch` since. */
bool bed_register_in(struct bed *bed, const char *name, int epoch, int process_epoch);
bool bed_come(struct bed *bed, const char *name); /* both */
bool bed_start(struct bed *bed, const char *name);
bool bed_start_of(struct bed *bed, const char *name, int epoch, int restart);
bool bed_exit(struct bed *bed, const char *name, int code);
/* Code 1, with "Connection reset by peer" as its last words. */
bool bed_exit_blaming(struct bed *bed, const char *name);
bool bed_lose(struct bed *bed, const char *name, enum cause_kind kind);
bool bed_gone(struct bed *bed, const char *name); /* a released container ended */
bool bed_beat(struct bed *bed, const char *name);
bool bed_serve(struct bed *bed, const char *name, int ui_port); /* a beat that tells so */
bool bed_scale(struct bed *bed, const char *type, int count);	/* so many are wanted */
void bed_pass(struct bed *bed, int64_t ms);	   /* time passes, ticks come when due */
void bed_stand_still(struct bed *bed, int64_t ms); /* time passes for all but the machine */

/* All of a type: allocate, register and (once ordered) start. */
void bed_bring_up(struct bed *bed, const char *type);
/* Every container still out is reported as ended. */
void bed_drain(struct bed *bed);

bool bed_acted(const struct bed *bed, enum action_kind kind, const char *name);

#endif
