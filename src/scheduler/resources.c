#include "scheduler/resources.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static const struct share unknown = {-1, -1, -1};

/* ---- arithmetic --------------------------------------------------------------------------- */

static int64_t left_of(int64_t limit, int64_t used)
{
	if (limit < 0 || used < 0)
		return limit;
	return limit > used ? limit - used : 0;
}

static struct share share_left(const struct share *limit, const struct share *used)
{
	return (struct share){.memory = left_of(limit->memory, used->memory),
			      .vcores = left_of(limit->vcores, used->vcores),
			      .gpus = left_of(limit->gpus, used->gpus)};
}

static int64_t smaller_limit(int64_t a, int64_t b)
{
	return b < 0 || (a >= 0 && a < b) ? a : b;
}

/* ---- nodes -------------------------------------------------------------------------------- */

const char *node_state_name(enum node_state state)
{
	static const char *const names[] = {[NODE_READY] = "ready",
					    [NODE_DRAINING] = "draining",
					    [NODE_DRAINED] = "drained",
					    [NODE_UNHEALTHY] = "unhealthy",
					    [NODE_DOWN] = "down"};

	return names[state];
}

struct share scheduler_node_free(const struct scheduler_node *node)
{
	return node->state == NODE_READY ? share_left(&node->total, &node->used)
					 : (struct share){0};
}

void scheduler_nodes_finish(struct scheduler_nodes *nodes)
{
	for (size_t i = 0; i < nodes->count; i++) {
		free(nodes->items[i].name);
		free(nodes->items[i].note);
		str_list_finish(&nodes->items[i].labels);
	}
	free(nodes->items);
	*nodes = (struct scheduler_nodes){0};
}

/* ---- queues ------------------------------------------------------------------------------- */

const char *queue_state_name(enum queue_state state)
{
	static const char *const names[] = {
		[QUEUE_OPEN] = "open", [QUEUE_DRAINING] = "draining", [QUEUE_STOPPED] = "stopped"};

	return names[state];
}

struct scheduler_queue_part *scheduler_queue_add_part(struct scheduler_queue *queue,
						      const char *label)
{
	queue->parts = mem_grow(queue->parts, queue->part_count, sizeof(*queue->parts));
	struct scheduler_queue_part *part = &queue->parts[queue->part_count++];
	*part = (struct scheduler_queue_part){.label = label && *label ? mem_strdup(label) : NULL,
					      .guaranteed = unknown,
					      .maximum = unknown,
					      .used = unknown,
					      .pending = unknown,
					      .user_limit = unknown,
					      .user_used = unknown,
					      .am_limit = unknown,
					      .am_used = unknown};
	return part;
}

void scheduler_queue_init(struct scheduler_queue *queue, const char *name, const char *path)
{
	*queue = (struct scheduler_queue){.name = mem_strdup(name),
					  .path = mem_strdup(path),
					  .largest = unknown,
					  .running = -1,
					  .waiting = -1,
					  .max_running = -1,
					  .max_jobs = -1,
					  .user_running = -1,
					  .user_waiting = -1,
					  .max_job_ms = -1};
	scheduler_queue_add_part(queue, NULL);
}

struct scheduler_queue *scheduler_queues_add(struct scheduler_queues *queues)
{
	queues->items = mem_grow(queues->items, queues->count, sizeof(*queues->items));
	return &queues->items[queues->count++];
}

struct share scheduler_queue_left(const struct scheduler_queue_part *part)
{
	struct share queue = share_left(&part->maximum, &part->used);
	struct share user = share_left(&part->user_limit, &part->user_used);

	return (struct share){.memory = smaller_limit(queue.memory, user.memory),
			      .vcores = smaller_limit(queue.vcores, user.vcores),
			      .gpus = smaller_limit(queue.gpus, user.gpus)};
}

bool scheduler_queue_is_called(const struct scheduler_queue *queue, const char *name)
{
	return str_equal(queue->name, name) ||
	       (queue->path && str_ends_with_part(queue->path, name, '.'));
}

void scheduler_queue_finish(struct scheduler_queue *queue)
{
	for (size_t i = 0; i < queue->part_count; i++)
		free(queue->parts[i].label);
	for (size_t i = 0; i < queue->job_count; i++) {
		free(queue->jobs[i].id);
		free(queue->jobs[i].user);
	}
	free(queue->parts);
	free(queue->jobs);
	free(queue->name);
	free(queue->path);
}

void scheduler_queues_finish(struct scheduler_queues *queues)
{
	for (size_t i = 0; i < queues->count; i++)
		scheduler_queue_finish(&queues->items[i]);
	free(queues->items);
	*queues = (struct scheduler_queues){0};
}
