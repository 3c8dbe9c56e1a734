/* Jobs and clusters in the shapes of shapes/<name>.json, which the golden files show:
 *   workers  two equal workers
 *   roles    chief, workers, ps, evaluator, tensorboard, after a re-formation
 *   dense    several processes per task, a finished prepare stage, IPv6
 *   single   one task
 *   elastic  workers, of which some are away
 *   names    workers on machines known by a name and by a number, tensorboard
 * and those of a framework with types of its own, by its name. */
#ifndef TONY_TEST_FRAMEWORK_FIXTURE_H
#define TONY_TEST_FRAMEWORK_FIXTURE_H

#include "framework/framework.h"

/* The caller destroys both. */
struct job *fixture_job(const char *framework, const char *shape);
struct cluster *fixture_cluster(const struct job *job, const char *shape);

void fixture_task(const struct job *job, const struct cluster *cluster, const char *type, int index,
		  struct framework_task *task);

#endif
