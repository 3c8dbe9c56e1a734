/* A sample of the use by a task's processes: the member "metrics" of docs/rest.md. */
#ifndef TONY_PROTOCOL_METRICS_H
#define TONY_PROTOCOL_METRICS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { METRICS_GPUS_MAX = 64, METRICS_GPU_INDEX_MAX = 1023, METRICS_WATTS_MAX = 1000000 };

/* Negative: not known. */
struct metrics_gpu {
	int index;
	int64_t utilization_percent, memory_used_mib, memory_total_mib, power_watts;
};

/* Negative: not known. An executor knows all but network traffic and steps; decoded, only these
 * and the power of GPUs are ever negative. */
struct metrics {
	int64_t sampled_ms; /* the executor's clock; 0: not told */
	int64_t rss_bytes, pss_bytes, cpu_ms, read_bytes, write_bytes, processes, threads;
	int64_t net_receive_bytes, net_send_bytes;
	int64_t step, steps;	  /* how far the program is */
	struct metrics_gpu *gpus; /* owned */
	size_t gpu_count;
};

/* `gpus` is there in any case, as GET /v1/metrics has it; "sampled_ms" is not. */
json_t *metrics_to_json(const struct metrics *metrics);
int metrics_from_json(const json_t *object, struct metrics *metrics, struct err *err);

/* The member "metrics" of a message. */
void metrics_set_member(json_t *body, const struct metrics *metrics);
int metrics_read_member(const json_t *body, bool *has_metrics, struct metrics *metrics,
			struct err *err);

void metrics_copy(struct metrics *to, const struct metrics *from);
void metrics_finish(struct metrics *metrics);

#endif
