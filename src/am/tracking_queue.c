#include "am/tracking_queue.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"

enum { KEY_MAX = 250 };

/* Names are paths: no part of one may be empty, or consist of dots. */
static void append_part(struct str *key, const char *part, size_t length)
{
	bool is_dots = strspn(part, ".") >= length;

	if (length == 0)
		return;
	if (key->length > 0)
		str_append_char(key, '/');
	for (size_t i = 0; i < length; i++) {
		bool is_taken = isascii((unsigned char)part[i]) &&
				(isalnum((unsigned char)part[i]) || strchr("_-. ", part[i]));
		str_append_char(key, is_taken && !is_dots ? part[i] : '_');
	}
}

static void append_path(struct str *key, const char *path)
{
	for (const char *part = path; part && *part;) {
		size_t length = strcspn(part, "/");
		append_part(key, part, length);
		part += length;
		part += strspn(part, "/");
	}
}

char *tracking_key(const char *task, const char *run, const char *name)
{
	struct str key cleanup_str = {0};

	append_path(&key, task);
	append_path(&key, run);
	append_path(&key, name);
	if (key.length == 0)
		str_append_char(&key, '_');
	return mem_strndup(key.text, KEY_MAX);
}

static void thin(struct tracking_queue *queue)
{
	size_t kept = queue->sent;

	for (size_t i = queue->sent; i < queue->count; i++) {
		if ((i - queue->sent) % 2 == 0)
			free(queue->points[i].key);
		else
			queue->points[kept++] = queue->points[i];
	}
	queue->count = kept;
	queue->is_thinned = true;
}

void tracking_queue_add(struct tracking_queue *queue, char *key, int64_t time_ms, int64_t step,
			double value)
{
	if (queue->count == TRACKING_QUEUE_MAX)
		thin(queue);
	queue->points = mem_grow(queue->points, queue->count, sizeof(*queue->points));
	queue->points[queue->count++] = (struct tracking_point){
		.key = key, .time_ms = time_ms, .step = step, .value = value};
}

json_t *tracking_queue_take(struct tracking_queue *queue)
{
	json_t *metrics = json_array();

	queue->sent = queue->count < TRACKING_BATCH_MAX ? queue->count : TRACKING_BATCH_MAX;
	for (size_t i = 0; i < queue->sent; i++) {
		const struct tracking_point *point = &queue->points[i];
		json_t *metric = json_object();
		json_set_text(metric, "key", point->key);
		json_object_set_new(metric, "value", json_real(point->value));
		json_set_int(metric, "timestamp", point->time_ms);
		json_set_int(metric, "step", point->step);
		json_array_append_new(metrics, metric);
	}
	return metrics;
}

void tracking_queue_drop(struct tracking_queue *queue)
{
	for (size_t i = 0; i < queue->sent; i++)
		free(queue->points[i].key);
	queue->count -= queue->sent;
	if (queue->count > 0)
		memmove(queue->points, queue->points + queue->sent,
			queue->count * sizeof(*queue->points));
	queue->sent = 0;
}

void tracking_queue_keep(struct tracking_queue *queue)
{
	queue->sent = 0;
}

void tracking_queue_finish(struct tracking_queue *queue)
{
	tracking_queue_keep(queue);
	for (size_t i = 0; i < queue->count; i++)
		free(queue->points[i].key);
	free(queue->points);
	*queue = (struct tracking_queue){0};
}
