/* What the two halves of the world share: world.c has the scheduler, the network and the AM's side,
 * executor.c the executors. */
#ifndef TONY_TEST_SIM_WORLD_H
#define TONY_TEST_SIM_WORLD_H

#include "sim.h"

/* ---- world.c ---- */
/* It is to happen in `delay` ms. */
void world_plan(struct sim *sim, int64_t delay, struct happening happening);
bool world_chance(struct sim *sim, int per_mille);
int64_t world_between(struct sim *sim, int64_t low, int64_t high);
size_t world_number_of(const struct sim *sim, const struct container *container);
/* One that can be told from all others. */
struct cause_brief world_new_failure(struct sim *sim, enum cause_kind kind);
void world_process_gone(struct sim *sim, struct container *container);
/* From an executor; lost, late or repeated as the weather is. */
void world_send(struct sim *sim, const struct container *container, struct happening message);

/* ---- executor.c ---- */
void executor_come_up(struct sim *sim, struct container *container);
void executor_process_end(struct sim *sim, struct container *container, unsigned number);
void executor_stopped(struct sim *sim, struct container *container);
void executor_obey(struct sim *sim, struct container *container, struct order order);
void executor_no_answer(struct sim *sim, struct container *container);

#endif
