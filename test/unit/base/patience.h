/* How long tests wait for what should happen, and look at what should not. test/lint/waits.py
 * checks that no test sleeps in another way. */
#ifndef TONY_TEST_UNIT_BASE_PATIENCE_H
#define TONY_TEST_UNIT_BASE_PATIENCE_H

#include "test.h"

#include <unistd.h>

#include "base/clock.h"

enum {
	/* Until what a test waits for counts as never coming: as long as PATIENCE_S of
	 * test/harness/patience.py. */
	PATIENCE_MS = 180000,
	BETWEEN_LOOKS_US = 1000,
};

/* Returns as soon as the condition holds; fails, naming it, when it does not come true. */
#define wait_until(condition)                                                                      \
	do {                                                                                       \
		int64_t deadline_ = clock_monotonic_ms() + PATIENCE_MS;                            \
		while (!(condition)) {                                                             \
			if (clock_monotonic_ms() > deadline_)                                      \
				fail_msg("waited %d ms in vain: %s", PATIENCE_MS, #condition);     \
			usleep(BETWEEN_LOOKS_US);                                                  \
		}                                                                                  \
	} while (0)

/* Looks for `ms`, and fails as soon as the condition holds. A busy machine makes it look less
 * often, which fails no test. */
#define assert_never(condition, ms)                                                                \
	do {                                                                                       \
		int64_t end_ = clock_monotonic_ms() + (ms);                                        \
		do {                                                                               \
			if (condition)                                                             \
				fail_msg("came true within %d ms: %s", (int)(ms), #condition);     \
			usleep(BETWEEN_LOOKS_US);                                                  \
		} while (clock_monotonic_ms() < end_);                                             \
	} while (0)

/* Lets other processes go on for about so long. The test's promises must hold however far they have
 * come. */
static inline void let_pass(unsigned ms)
{
	usleep(ms * 1000);
}

#endif
