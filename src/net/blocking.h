/* Calls of libraries that wait for servers by themselves, as Kerberos's does, in a process that has
 * blocked its signals: net/interrupt.h's end the wait all the same. */
#ifndef TONY_NET_BLOCKING_H
#define TONY_NET_BLOCKING_H

#include <stdbool.h>

/* Calls `call(data)`, in a thread of its own where signals are blocked; else nothing has to be
 * heard. True: it has returned. False: a signal is pending, and the wait has lasted for
 * INTERRUPT_GRACE_MS; the thread goes on with `data`, which is its own from then on, and calls
 * forget(data) at the end. */
bool blocking_run(void (*call)(void *data), void (*forget)(void *data), void *data);

#endif
