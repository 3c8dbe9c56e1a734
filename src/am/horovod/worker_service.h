/*
 * The notification service that each process of an elastic job of Horovod's has: where it listens,
 * as the process tells it, and how it is told that its ring is to form anew. Horovod writes pickles
 * for both. No pickle is executed here: one that holds more than plain data is refused, and the one
 * that is sent is always the same but for its time.
 */
#ifndef TONY_AM_HOROVOD_WORKER_SERVICE_H
#define TONY_AM_HOROVOD_WORKER_SERVICE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/secret.h"

enum { WORKER_SERVICE_KEY_BYTES = 32, WORKER_SERVICE_MESSAGE_MAX = 256 };

struct worker_service {
	int port; /* the same on every address that it told */
	unsigned char key[WORKER_SERVICE_KEY_BYTES];
};

/* The value that a process puts: base64 of the pickle of ({interface: [(address, port)]}, key). */
int worker_service_read(const char *base64, size_t length, struct worker_service *service,
			struct err *err);

/* "Hosts were added", at `time`: later than the time of any message before, else it is ignored.
 * Returns its length. */
size_t worker_service_message(const struct worker_service *service, int64_t time,
			      unsigned char message[WORKER_SERVICE_MESSAGE_MAX]);

#endif
