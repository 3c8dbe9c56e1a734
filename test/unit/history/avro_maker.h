/* Writes Avro, as TonY does, from the specification. */
#ifndef TONY_TEST_UNIT_HISTORY_AVRO_MAKER_H
#define TONY_TEST_UNIT_HISTORY_AVRO_MAKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

void put_long(struct str *out, int64_t value);
void put_double(struct str *out, double value);
void put_text(struct str *out, const char *text);

/* A container file with one block of `count` records, whose bytes are `records`. */
void put_file(struct str *out, const char *schema, bool deflate, int64_t count,
	      const struct str *records);

/* The schema of TonY's events, and records of it. Metrics: MAX_MEMORY_BYTES and
 * AVG_GPU_UTILIZATION; negative: none. */
extern const char tony_schema[];
void put_inited(struct str *out, int64_t time_ms, const char *id, int tasks);
void put_started(struct str *out, int64_t time_ms, const char *type, int index, const char *host);
struct finished_task {
	const char *type;
	int index;
	const char *status, *diagnostic; /* NULL: none */
	double memory, gpu;
};
void put_task_finished(struct str *out, int64_t time_ms, const struct finished_task *task);
void put_finished(struct str *out, int64_t time_ms, const char *id, int finished, int failed);

#endif
