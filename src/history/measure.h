/* What the tasks of a type have used, all together: its figures in summary.json. */
#ifndef TONY_HISTORY_MEASURE_H
#define TONY_HISTORY_MEASURE_H

#include "base/err.h"
#include "history/summary.h"

/* Zero-initialised: nothing was measured. */
struct history_measure {
	int64_t max_rss_bytes, max_pss_bytes;
	double *rss; /* of all tasks, each at all times, in any order */
	size_t rss_count, rss_capacity;
	double cpu_ms, cpu_time_ms;  /* used, in so much time */
	double gpu_sum, gpu_samples; /* percents; each device is a sample */
	int64_t longest_silence_ms, late_beats;
};
void history_measure_add_rss(struct history_measure *measure, double bytes);
/* Of one task: as in struct history_type. */
void history_measure_add_silence(struct history_measure *measure, int64_t longest_ms,
				 int64_t late_beats);
/* Fills in the type's row, and frees. */
void history_measure_finish(struct history_measure *measure, struct history_type *type);

/* Of each type what a metrics.jsonl tells; lines that are not good are passed over. Its points are
 * means of measurements, so that this is about what was measured. */
int history_measure_file(const struct job *job, const char *path, struct history_summary *summary,
			 struct err *err);

#endif
