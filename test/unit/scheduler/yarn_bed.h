/* The AM's side of YARN against a ResourceManager and a NodeManager with words put in their mouths.
 */
#ifndef TONY_TEST_SCHEDULER_YARN_BED_H
#define TONY_TEST_SCHEDULER_YARN_BED_H

#include "../hadoop/fake_rm.h"
#include "scheduler/yarn_internal.h"

enum { AN_HOUR_MS = 3600 * 1000, WORKER = 0, PS = 1, TYPES = 2, WORKERS = 3 };

struct bed {
	struct event_base *base;
	struct fake_rm rm, clients, node; /* both services of the ResourceManager */
	struct job job;
	struct job_type types[TYPES];
	struct hadoop_amount fpga;
	/* Of workers: */
	const char *placement; /* NULL: none */
	bool is_opportunistic;
	struct scheduler *scheduler;
	struct str told;
	struct cause cause; /* of the last end or preemption */
};

/* Runs the loop until the listener was told this; has it been? */
void wait_told(struct bed *bed, const char *part);
bool is_told(const struct bed *bed, const char *part);
/* `fpgas`: of each ps. `placement`: of workers; NULL: none. */
struct bed *open_with(void **state, enum job_mode mode, int64_t fpgas, const char *placement,
		      bool is_opportunistic);
struct bed *open_bed(void **state, enum job_mode mode, int64_t fpgas);
void close_bed(struct bed *bed);
/* From task `first` on, attempt 1: WORKERS workers, then the ps. */
void ask_for(struct bed *bed, size_t first, size_t count, bool optional);
void request(struct bed *bed, size_t first, size_t count);
int port_of_node(const struct bed *bed);
/* A container with this number for a worker. */
void give(struct bed *bed, int number);
void launch(struct bed *bed, size_t task);
/* worker:0 in container 2, started. */
void bring_up(struct bed *bed);
/* Of the last end or preemption. */
void assert_cause(struct bed *bed, enum cause_kind kind, const char *part);

#endif
