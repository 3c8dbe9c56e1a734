/* What usage.c and usage_restore.c share. */
#ifndef TONY_AM_USAGE_INTERNAL_H
#define TONY_AM_USAGE_INTERNAL_H

#include "am/usage.h"

struct gpu_usage {
	int index;
	struct series *series;
};

/* What there was at a time. */
struct usage_mark {
	int64_t at;
	double step; /* NAN: not told */
	double cpu_ms, cpu_time_ms, gpu_sum, gpu_samples;
};

struct usage {
	size_t points;
	struct metrics last;
	struct program_identity of; /* of `last` */
	int64_t last_at;	    /* when it came */
	bool is_over;		    /* that process has ended, and counts whole */
	double cpu_ms, cpu_time_ms; /* of that process, as far as `total` has it already */
	struct usage_total total;
	/* Of this process, the first sample in each of the last two spans of recent_ms; all tasks'
	 * begin at the same time. */
	int64_t recent_ms, span;
	struct usage_mark marks[2];
	size_t mark_count;
	bool fell; /* it went back to a lower step: theirs cannot be compared */
	struct series *series;
	struct gpu_usage *gpus;
	size_t gpu_count;
};

/* NULL: it is one device too many. */
struct series *usage_gpu_series(struct usage *usage, int index);

#endif
