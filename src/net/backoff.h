/* How long to wait before the next try: doubling, capped, with jitter, so that a thousand executors
 * do not come back in step. */
#ifndef TONY_NET_BACKOFF_H
#define TONY_NET_BACKOFF_H

#include <stdint.h>

struct backoff {
	int64_t first_ms; /* > 0 */
	int64_t cap_ms;	  /* >= first_ms */
	int tries;	  /* since the last backoff_reset() */
};

/* The next wait: between half and all of min(cap, first * 2^tries), chosen by `random` (any 64
 * random bits; passed in). */
int64_t backoff_next(struct backoff *backoff, uint64_t random);
void backoff_reset(struct backoff *backoff); /* after a success */

#endif
