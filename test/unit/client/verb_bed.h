/* Jobs made of files alone, for the verbs that look at jobs; and the verbs run with what they print
 * kept. Every test has a state directory of its own. */
#ifndef TONY_TEST_UNIT_CLIENT_VERB_BED_H
#define TONY_TEST_UNIT_CLIENT_VERB_BED_H

#include <jansson.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "scheduler/scheduler.h"

int verb_bed_create(void **state);
int verb_bed_remove(void **state);
#define verb_test(function)                                                                        \
	cmocka_unit_test_setup_teardown(function, verb_bed_create, verb_bed_remove)

/* A job "digits" with worker:0, worker:1 and chief:0. As long as it is not closed it counts as one
 * that is about to run. */
struct bed_job {
	const char *id; /* borrowed */
	struct job_door door;
	pid_t am; /* 0: none */
};
void bed_job_open(struct bed_job *bed, const char *id);
void bed_job_close(struct bed_job *bed); /* its AM is gone then */

/* Appends to the journal; takes `record`. */
void bed_job_record(const struct bed_job *bed, json_t *record, int64_t time_ms);
void bed_job_state(const struct bed_job *bed, const char *to);
void bed_job_task(const struct bed_job *bed, const char *task, const char *to, int attempt);
void bed_job_end(const struct bed_job *bed, const char *outcome, const char *message);

/* Starts a process that answers as the job's AM, with the two workers on pages of one task, of
 * which worker:1 is a straggler; a kill ends the job. `status`: of the answers to POST (200, 409).
 */
void bed_job_start_am(struct bed_job *bed, int status);
/* Waits until it was asked for a kill. */
void bed_job_await_kill(const struct bed_job *bed);

/* Writes a file of a task's container: "worker-0-1/stdout". */
void bed_job_write(const struct bed_job *bed, const char *name, const char *text);

/* Jobs that run, and more of them than this process may open files meanwhile. */
enum { BED_CROWD = 100 };
struct bed_crowd {
	struct bed_job jobs[BED_CROWD];
	char ids[BED_CROWD][32];
	char *words; /* " ID ID ..." */
	struct rlimit files;
};
void bed_crowd_open(struct bed_crowd *crowd);
void bed_crowd_close(struct bed_crowd *crowd);

/* Runs a verb ("status --json digits"); returns its exit code. Words are split at blanks. */
int bed_run(void **state, const char *line);
/* What it printed; both are valid until the next run. */
const char *bed_out(void);
const char *bed_err(void);

#endif
