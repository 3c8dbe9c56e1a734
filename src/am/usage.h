/* What a task uses, over its whole life: made out of the metrics that its executor sends. */
#ifndef TONY_AM_USAGE_H
#define TONY_AM_USAGE_H

#include <jansson.h>

#include "base/str.h"
#include "job/record.h"
#include "job/series.h"
#include "job/straggler.h"
#include "protocol/message.h"
#include "protocol/metrics.h"

/* Measured by series; the GPUs' have one of each device. */
enum usage_series {
	USAGE_CPU_PERCENT,
	USAGE_RSS_BYTES,
	USAGE_PSS_BYTES,
	USAGE_READ_BYTES_PER_S,
	USAGE_WRITE_BYTES_PER_S,
	USAGE_NET_RECEIVE_BYTES_PER_S,
	USAGE_NET_SEND_BYTES_PER_S,
	USAGE_PROCESSES,
	USAGE_THREADS,
	USAGE_GPU_UTILIZATION_PERCENT,
	USAGE_GPU_MEMORY_USED_BYTES,
	USAGE_GPU_MEMORY_TOTAL_BYTES,
	USAGE_GPU_POWER_WATTS,
	USAGE_SERIES_COUNT,
	USAGE_COLUMNS = USAGE_GPU_UTILIZATION_PERCENT, /* of the task itself */
	USAGE_GPU_COLUMNS = USAGE_SERIES_COUNT - USAGE_COLUMNS,
};
int usage_find_series(const char *name); /* -1: there is none of that name */

struct usage;

/* `shape` has USAGE_COLUMNS. Of late is the last `recent_ms`, half of it or twice as much. */
struct usage *usage_create(const struct series_shape *shape, int64_t recent_ms);
void usage_destroy(struct usage *usage); /* NULL is fine */

/* Takes the metrics. The same sample once more changes nothing but the steps:
 * a program that has ended may have told of its last one. What only grows (processor time,
 * bytes) is counted from the first sample of each process `of`. */
void usage_add(struct usage *usage, const struct program_identity *of, struct metrics *metrics,
	       int64_t now_ms);

/* Takes what a process `of` has used, now that it has ended: a program that ends before it is
 * measured the first time counts with that alone. The same process once more changes nothing. */
void usage_add_end(struct usage *usage, const struct program_identity *of,
		   const struct program_use *use, int64_t now_ms);

/* So long, in ms, its executor said nothing between two beats, of which one is due each
 * `interval_ms`. */
void usage_add_silence(struct usage *usage, int64_t silence_ms, int64_t interval_ms);

const struct metrics *usage_last(const struct usage *usage);

/* Whether the last metrics are of this process. */
bool usage_is_of(const struct usage *usage, const struct program_identity *of);
/* What that process has done of late; what is not known of it is left as it is. */
void usage_signs(const struct usage *usage, struct straggler_signs *signs);

struct usage_total {
	int64_t max_rss_bytes, max_pss_bytes;
	double rss_sum; /* over `samples` */
	int64_t samples;
	double cpu_ms, cpu_time_ms;		/* used, in so much time */
	double gpu_sum, gpu_samples;		/* percents; each device is a sample */
	int64_t longest_silence_ms, late_beats; /* those that came after two intervals */
};
const struct usage_total *usage_total(const struct usage *usage);

json_t *usage_to_json(const struct usage *usage); /* as GET /v1/metrics has it */

/* What an AM that follows goes on from, beside the series (docs/history.md, "resume"). */
json_t *usage_to_resume(const struct usage *usage);
/* Takes what a line of metrics.jsonl says of a task, of which nothing was measured yet. What is not
 * good, or of after `now_ms`, is passed over. */
void usage_restore(struct usage *usage, const json_t *line, int64_t now_ms);

/* Appends "[{...}, ...]" as GET /v1/series has it. */
void usage_write_series(const struct usage *usage, size_t points, struct str *text);
/* Of the newest sample; of several GPUs the mean. NAN: it is not known. */
double usage_newest(const struct usage *usage, enum usage_series name);
/* Appends "{"last": 93, "v": [...]}"; of several GPUs the mean. False: nothing is known of it. */
bool usage_write_newest(const struct usage *usage, enum usage_series name, size_t points,
			struct str *text);

/* As series_read(). */
size_t usage_read(const struct usage *usage, enum usage_series name, size_t points,
		  struct series_point **found);

#endif
