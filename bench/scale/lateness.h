/* How late beats were answered, beyond the time for which they are held. */
#ifndef TONY_BENCH_LATENESS_H
#define TONY_BENCH_LATENESS_H

#include <stddef.h>
#include <stdint.h>

/* Initialise with {0}. */
struct lateness {
	int32_t *us;
	size_t count, capacity;
};

void lateness_add(struct lateness *lateness, int64_t us);
/* Members of a JSON object, to standard output:
 * "beats":7,"late_ms":{"p50":0.10,"p99":2.00,"max":3.00}. Empties it. */
void lateness_print(struct lateness *lateness);

#endif
