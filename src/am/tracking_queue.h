/* Numbers on their way to a tracking server: in order, bounded, and sent again until they have
 * arrived. */
#ifndef TONY_AM_TRACKING_QUEUE_H
#define TONY_AM_TRACKING_QUEUE_H

#include <jansson.h>

#include "protocol/numbers.h"

/* Numbers that are kept, and of one request (MLflow's own limit). */
enum { TRACKING_QUEUE_MAX = 20000, TRACKING_BATCH_MAX = 1000 };

struct tracking_queue {
	struct tracking_point {
		char *key;
		int64_t time_ms, step;
		double value;
	} * points;
	size_t count;
	size_t sent; /* of them, those that a request has taken along */
	bool is_thinned;
};

/* The name of a number there: "loss", "validation/loss" of a run of that name, with `task` in front
 * where there is one: "worker-1/loss". Only characters that every server takes; the caller frees.
 */
char *tracking_key(const char *task, const char *run, const char *name);

/* Takes over `key`. A full queue forgets every second number that is not on its way. */
void tracking_queue_add(struct tracking_queue *queue, char *key, int64_t time_ms, int64_t step,
			double value);
/* The next ones, for a list "metrics": they stay until they are dropped. */
json_t *tracking_queue_take(struct tracking_queue *queue);
/* Those that were taken have arrived, or never will. */
void tracking_queue_drop(struct tracking_queue *queue);
/* Those that were taken are to be taken again. */
void tracking_queue_keep(struct tracking_queue *queue);
void tracking_queue_finish(struct tracking_queue *queue);

#endif
