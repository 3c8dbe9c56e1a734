/* What an AM has to know of the ring that formed under the one before it: who is in it, in the
 * order of their ranks, and where they can be told of changes. As JSON, in a file that only its
 * owner can read. */
#ifndef TONY_AM_HOROVOD_RING_FILE_H
#define TONY_AM_HOROVOD_RING_FILE_H

#include "am/horovod/ring.h"
#include "am/horovod/worker_service.h"

/* `services`: struct worker_service by name. */
int ring_file_write(const char *path, const struct ring *ring, const struct map *services,
		    struct err *err);
/* A file that is not there tells nothing. */
int ring_file_read(const char *path, struct ring *ring, struct map *services, struct err *err);

#endif
