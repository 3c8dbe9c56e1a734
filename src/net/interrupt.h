/* SIGINT, SIGTERM and SIGHUP of a process that has blocked them, and takes them between its steps:
 * they end a wait within a step, too. Such a signal stays pending. */
#ifndef TONY_NET_INTERRUPT_H
#define TONY_NET_INTERRUPT_H

#include <stdbool.h>

#include "base/err.h"

struct event_base;

/* A server that answers does so within this time: a wait that is shorter is never cut. */
enum { INTERRUPT_GRACE_MS = 500 };

/* False where they are not blocked. */
bool interrupt_is_pending(void);

/* A descriptor, the caller's to close, that is readable while one of them is pending. -1: none is
 * blocked. */
int interrupt_open(void);

/* event_base_dispatch() until event_base_loopbreak(). False: a signal is pending, and the wait has
 * lasted for INTERRUPT_GRACE_MS; what was waited for is the caller's to cancel. */
bool interrupt_dispatch(struct event_base *base);

/* ERR_INTERRUPTED: "WHAT: interrupted before an answer came". Returns -1. */
int interrupt_set(struct err *err, const char *what);

#endif
