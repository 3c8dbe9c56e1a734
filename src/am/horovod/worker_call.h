/* Tells a process of an elastic ring that the ring is to form anew (worker_service.h). Whether it
 * arrived is not told: who wants to be sure calls again until the process asks for its place. */
#ifndef TONY_AM_HOROVOD_WORKER_CALL_H
#define TONY_AM_HOROVOD_WORKER_CALL_H

#include "am/horovod/worker_service.h"

struct event_base;
struct worker_call;

struct worker_call *worker_call_create(struct event_base *base);
void worker_call_destroy(struct worker_call *call); /* NULL is fine */

/* One that is still on its way is given up. */
void worker_call_start(struct worker_call *call, const char *host,
		       const struct worker_service *service, int64_t time);

#endif
