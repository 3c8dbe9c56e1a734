/* Jobs and clusters in the shapes that the golden files show. */
#ifndef TONY_TEST_FRAMEWORK_FIXTURE_H
#define TONY_TEST_FRAMEWORK_FIXTURE_H

#include "framework/framework.h"

enum shape {
	SHAPE_WORKERS, /* two equal workers */
	SHAPE_ROLES,   /* chief, workers, ps, evaluator, tensorboard, after a re-formation */
	SHAPE_DENSE,   /* several processes per task, a finished prepare stage, IPv6 */
	SHAPE_SINGLE,  /* one task */
};

/* The caller destroys both. */
struct job *fixture_job(const char *framework, enum shape shape);
struct cluster *fixture_cluster(const struct job *job, enum shape shape);

void fixture_task(const struct job *job, const struct cluster *cluster, const char *type, int index,
		  struct framework_task *task);

#endif
