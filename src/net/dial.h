/* Connecting to HOST:PORT on the event loop: finds the name's addresses and tries one after the
 * other. */
#ifndef TONY_NET_DIAL_H
#define TONY_NET_DIAL_H

#include <stdint.h>

#include "base/err.h"

struct event_base;
struct dial;

/* Called once, from the loop. `fd` is connected, non-blocking, close-on-exec, and `done`'s to
 * close; or -1: `err` (ERR_UNREACHABLE) says why, without naming the address. */
typedef void dial_done(void *data, int fd, const struct err *err);

/* Never calls back from within. NULL when `address` is not HOST:PORT. timeout_ms covers all of it;
 * an address that does not answer leaves the others their share. */
struct dial *dial_start(struct event_base *base, const char *address, int64_t timeout_ms,
			dial_done *done, void *data, struct err *err);
/* `done` will not be called. */
void dial_cancel(struct dial *dial);

#endif
