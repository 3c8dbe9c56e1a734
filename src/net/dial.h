/* Connecting to HOST:PORT on the event loop: finds the name's addresses and tries one after the
 * other. */
#ifndef TONY_NET_DIAL_H
#define TONY_NET_DIAL_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"

struct event_base;
struct dial;

/* Called once, from the loop. `fd` is connected, non-blocking, close-on-exec, and `done`'s to
 * close; or -1: `err` says why, without naming the address (ERR_UNREACHABLE; ERR_NOT_FOUND: the
 * name has no address; ERR_DENIED: see dial_demand_owner()). */
typedef void dial_done(void *data, int fd, const struct err *err);

/* Never calls back from within. NULL when `address` is not HOST:PORT. timeout_ms covers all of it;
 * an address that does not answer leaves the others their share. */
struct dial *dial_start(struct event_base *base, const char *address, int64_t timeout_ms,
			dial_done *done, void *data, struct err *err);
/* A program of this machine at the other end has to be trusted (socket_owner_is_trusted()), else it
 * is refused; so it is where the kernel does not say whose an end on this machine is. `others` is
 * borrowed. */
void dial_demand_owner(struct dial *dial, uid_t owner, const struct str_list *others);
/* `done` will not be called. */
void dial_cancel(struct dial *dial);

#endif
