/*
 * What the containers of a job have used, as the rules of advice.h want it: figures, not series.
 * -1: not known. Times are wall-clock ms.
 */
#ifndef TONY_ADVISE_USE_H
#define TONY_ADVISE_USE_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "job/job.h"

struct advise_gpu {
	int index;
	double average_percent, high_percent; /* mean and 95th percentile of its use */
	double used_bytes;		      /* the most of its memory that was in use */
	double memory_bytes;
};

/* Steps of the program that only went up: a step that is less than the one before it, as after a
 * restart from a checkpoint, begins the next stretch. */
struct advise_stretch {
	int64_t first_ms, last_ms;
	int64_t first_step, last_step;
	size_t points;
};

/* Of one container of a task. */
struct advise_use {
	size_t task; /* its number in the job */
	int attempt;
	int64_t from_ms, to_ms; /* the first measurement and the last */
	int64_t samples;
	int64_t max_rss_bytes;			/* shared pages count for each process */
	int64_t max_pss_bytes;			/* in proportion */
	int64_t longest_silence_ms, late_beats; /* of its executor; beats after two intervals */
	double average_cores, high_cores;	/* mean and 95th percentile of processor use */
	double read_rate;			/* bytes per second from storage, mean */
	double network_rate;			/* bytes per second both ways, mean */
	double input_wait_percent;		/* of the program's time, as it tells */
	char *nan_name, *nan_words; /* a number of its program's that has become NaN; NULL: none */
	struct advise_gpu *gpus;
	size_t gpu_count;
	struct advise_stretch *stretches; /* in the order of time; empty: no steps were told */
	size_t stretch_count;
};

/* In the order of tasks, those of one task by attempt. */
struct advise_uses {
	struct advise_use *items;
	size_t count;
};
void advise_uses_finish(struct advise_uses *uses);
#define cleanup_advise_uses __attribute__((cleanup(advise_uses_finish)))

/* Adds one at its place, all of it not known, for the caller to fill in; valid until the next one
 * is added. */
struct advise_use *advise_uses_add(struct advise_uses *uses, size_t task, int attempt);

/* Adds what one line of metrics.jsonl says (docs/history.md); members and series that are not of
 * use here, or not of the right form, are passed over. ERR_INPUT: it is of no task of this job. */
int advise_uses_add_json(struct advise_uses *uses, const struct job *job, const json_t *line,
			 struct err *err);

/* All lines of a metrics.jsonl; returns how many were not good and were passed over. */
size_t advise_uses_read(struct advise_uses *uses, const struct job *job, const char *bytes,
			size_t length);

#endif
