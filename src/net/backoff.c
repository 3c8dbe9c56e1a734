#include "net/backoff.h"

int64_t backoff_next(struct backoff *backoff, uint64_t random)
{
	int64_t wait = backoff->first_ms;

	for (int i = 0; i < backoff->tries && wait < backoff->cap_ms; i++)
		wait = wait > backoff->cap_ms / 2 ? backoff->cap_ms : wait * 2;
	backoff->tries++;
	if (wait > backoff->cap_ms)
		wait = backoff->cap_ms;
	int64_t half = wait / 2;
	return half + (int64_t)(random % (uint64_t)(wait - half + 1));
}

void backoff_reset(struct backoff *backoff)
{
	backoff->tries = 0;
}
