/* The job's checkpoint directory, where it is in HDFS: the program gets a directory of its
 * container (mirror.h) as TONY_CHECKPOINT_DIR, and needs to know nothing of HDFS. */
#ifndef TONY_EXECUTOR_CHECKPOINTS_H
#define TONY_EXECUTOR_CHECKPOINTS_H

#include "executor/mirror.h"
#include "executor/settings.h"

/* *mirror is NULL where every container finds the checkpoints by their path. */
int checkpoints_open(const struct settings *settings, struct event_base *base,
		     struct mirror **mirror, struct err *err);

#endif
