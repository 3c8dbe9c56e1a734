/* Time, in milliseconds. Code under src/job never calls these: time is passed in. */
#ifndef TONY_BASE_CLOCK_H
#define TONY_BASE_CLOCK_H

#include <stdint.h>
#include <sys/time.h>

int64_t clock_monotonic_ms(void); /* since boot, including suspend (CLOCK_BOOTTIME) */
int64_t clock_wall_ms(void);	  /* since 1970-01-01T00:00:00Z */

/* As event loops want it. `ms` >= 0. */
struct timeval clock_timeval(int64_t ms);

/* Used by this thread so far. */
int64_t clock_processor_us(void);

#endif
