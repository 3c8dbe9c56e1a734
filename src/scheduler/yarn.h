/*
 * YARN, the AM's side: containers of the cluster that job->engine describes (hadoop/cluster.h).
 *
 * Tasks of one type are one kind of container. What is asked for together in a gang is held until
 * all of it has come, and then told at once; a gang that does not get on is given back, and asked
 * for again after a pause of random length, so that two jobs which each hold half of a cluster do
 * not wait for each other for ever. Containers that come for nothing are given back.
 *
 * A task's container is started with a constant command; what it is to do comes with job.json, and
 * by environment variables whose values are safe in a shell's double quotes.
 */
#ifndef TONY_SCHEDULER_YARN_H
#define TONY_SCHEDULER_YARN_H

#include "scheduler/scheduler.h"

extern const struct scheduler_ops yarn_scheduler;

#endif
