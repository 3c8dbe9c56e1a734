/* Timers of an event loop, in milliseconds. */
#ifndef TONY_BASE_TIMER_H
#define TONY_BASE_TIMER_H

#include <event2/event.h>

#include "base/clock.h"

/* The event's callback is called in `ms` (>= 0) with EV_TIMEOUT; a timer that runs begins anew.
 * With EV_PERSIST it is called again and again in this interval. */
static inline void timer_start(struct event *timer, int64_t ms)
{
	const struct timeval time = clock_timeval(ms);

	event_add(timer, &time);
}

#endif
