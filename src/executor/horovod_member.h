/* `tony-agent horovod member COMMAND...`: what stands before the command of a process of an elastic
 * ring. It asks the application master for its place, which makes the processes of the ring let it
 * in, and waits; then the command takes its place. See framework/horovod_place.h. */
#ifndef TONY_EXECUTOR_HOROVOD_MEMBER_H
#define TONY_EXECUTOR_HOROVOD_MEMBER_H

#include "base/err.h"

/* Returns only when it fails. */
int horovod_member_run(char **command, struct err *err);

#endif
