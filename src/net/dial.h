/* Connecting to HOST:PORT on the event loop: finds the name's addresses and tries one after the
 * other. */
#ifndef TONY_NET_DIAL_H
#define TONY_NET_DIAL_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct event_base;
struct dial;

/* Called once, from the loop. `fd` is connected, non-blocking, close-on-exec, and `done`'s to
 * close; or -1: `err` says why, without naming the address (ERR_UNREACHABLE; ERR_DENIED: see
 * dial_demand_owner()). */
typedef void dial_done(void *data, int fd, const struct err *err);

/* Never calls back from within. NULL when `address` is not HOST:PORT. timeout_ms covers all of it;
 * an address that does not answer leaves the others their share. */
struct dial *dial_start(struct event_base *base, const char *address, int64_t timeout_ms,
			dial_done *done, void *data, struct err *err);
/* For those who will send a secret. A program of this machine at the other end has to be this
 * user's or root's (net/socket_owner.h), else it is refused. The kernel must know whose an end on
 * this machine is. */
void dial_demand_owner(struct dial *dial, uid_t owner);
/* `done` will not be called. */
void dial_cancel(struct dial *dial);

#endif
