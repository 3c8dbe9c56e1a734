#include "executor/tally.h"

#include "base/clock.h"

enum { KIB = 1 << 10 };

static int64_t cpu_ms(const struct rusage *used)
{
	const struct timeval *user = &used->ru_utime, *system = &used->ru_stime;

	return ((int64_t)user->tv_sec + system->tv_sec) * 1000 +
	       ((int64_t)user->tv_usec + system->tv_usec) / 1000;
}

/* Of all children that have ended so far, and of those that they had waited for. */
static int64_t children_cpu_ms(void)
{
	struct rusage used;

	return getrusage(RUSAGE_CHILDREN, &used) == 0 ? cpu_ms(&used) : 0;
}

void tally_begin(struct tally *tally)
{
	*tally = (struct tally){.begun_ms = clock_monotonic_ms(), .cpu_ms = children_cpu_ms()};
}

void tally_leave_out(struct tally *tally, const struct rusage *used)
{
	tally->cpu_ms += cpu_ms(used);
}

void tally_add(struct tally *tally, const struct rusage *used)
{
	tally->max_rss_bytes += (int64_t)used->ru_maxrss * KIB;
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

void tally_end(const struct tally *tally, const struct memory *memory, struct program_use *use)
{
	int64_t peak = (int64_t)memory->peak, resident = (int64_t)memory->resident_peak;
	int64_t shared = larger(resident - peak, 0);
	int64_t ms = clock_monotonic_ms() - tally->begun_ms;
	int64_t cpu = children_cpu_ms() - tally->cpu_ms;

	*use = (struct program_use){
		.ms = ms > 0 ? ms : 1,
		.cpu_ms = cpu > 0 ? cpu : 0,
		.max_rss_bytes = larger(tally->max_rss_bytes, resident),
		/* A process may have grown, and ended, between two looks. */
		.max_pss_bytes = larger(tally->max_rss_bytes - shared, peak),
	};
}
