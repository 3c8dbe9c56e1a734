#include "base/json.h"
#include "client/resources_table.h"

static void set_known(json_t *object, const char *name, int64_t value)
{
	if (value >= 0)
		json_set_int(object, name, value);
}

static void set_share(json_t *object, const char *name, const struct share *share)
{
	json_t *amounts = json_object();

	set_known(amounts, "memory_mib", share->memory);
	set_known(amounts, "vcores", share->vcores);
	set_known(amounts, "gpus", share->gpus);
	if (json_object_size(amounts) > 0)
		json_object_set_new(object, name, amounts);
	else
		json_decref(amounts);
}

/* ---- nodes -------------------------------------------------------------------------------- */

static json_t *node_json(const struct resources_choice *choice, const struct scheduler_node *node)
{
	const struct share left = scheduler_node_free(node);
	json_t *object = json_object();

	json_set_text(object, "name", node->name);
	json_set_text(object, "scheduler", choice->scheduler->traits->name);
	json_set_text(object, "state", node_state_name(node->state));
	json_set_text(object, "note", node->note);
	if (node->labels.count > 0)
		json_set_list(object, "labels", &node->labels);
	set_share(object, "total", &node->total);
	set_share(object, "allocated", &node->used);
	set_share(object, "free", &left);
	set_known(object, "container_count", node->containers);
	set_known(object, "opportunistic_count", node->opportunistic);
	set_known(object, "opportunistic_waiting_count", node->opportunistic_waiting);
	return object;
}

json_t *resources_json_nodes(const struct resources_choice *choice,
			     const struct scheduler_nodes *nodes)
{
	json_t *array = json_array();

	for (size_t i = 0; i < nodes->count; i++)
		if (resources_choice_has_node(choice, &nodes->items[i]))
			json_array_append_new(array, node_json(choice, &nodes->items[i]));
	return array;
}

/* ---- queues ------------------------------------------------------------------------------- */

static json_t *part_json(const struct scheduler_queue_part *part)
{
	const struct share left = scheduler_queue_left(part);
	json_t *object = json_object();

	json_set_text(object, "label", part->label);
	set_share(object, "guaranteed", &part->guaranteed);
	set_share(object, "maximum", &part->maximum);
	set_share(object, "allocated", &part->used);
	set_share(object, "pending", &part->pending);
	set_share(object, "user_limit", &part->user_limit);
	set_share(object, "user_allocated", &part->user_used);
	set_share(object, "left", &left);
	set_share(object, "am_limit", &part->am_limit);
	set_share(object, "am_allocated", &part->am_used);
	return object;
}

static json_t *job_json(const struct scheduler_queue_job *job)
{
	json_t *object = json_object();

	json_set_text(object, "id", job->id);
	json_set_text(object, "user", job->user);
	set_share(object, "holds", &job->holds);
	if (job->wants.memory > 0 || job->wants.vcores > 0 || job->wants.gpus > 0)
		set_share(object, "wants", &job->wants);
	return object;
}

static void set_counts(json_t *object, const struct scheduler_queue *queue)
{
	set_known(object, "running_count", queue->running);
	set_known(object, "waiting_count", queue->waiting);
	set_known(object, "max_running", queue->max_running);
	set_known(object, "max_jobs", queue->max_jobs);
	set_known(object, "user_running_count", queue->user_running);
	set_known(object, "user_waiting_count", queue->user_waiting);
	set_known(object, "max_job_ms", queue->max_job_ms);
}

static json_t *queue_json(const struct resources_choice *choice,
			  const struct scheduler_queue *queue)
{
	json_t *object = json_object(), *parts = json_array(), *jobs = json_array();

	json_set_text(object, "name", queue->name);
	json_set_text(object, "queue_path", queue->path);
	json_set_text(object, "scheduler", choice->scheduler->traits->name);
	json_set_text(object, "state", queue_state_name(queue->state));
	json_set_bool(object, "default", scheduler_queue_is_called(queue, choice->queue));
	if (queue->access != QUEUE_ACCESS_UNKNOWN)
		json_set_bool(object, "may_submit", queue->access == QUEUE_ACCESS_GRANTED);
	if (queue->makes_queues)
		json_set_bool(object, "makes_queues", true);
	if (queue->is_mapped)
		json_set_bool(object, "mapped", true);
	set_counts(object, queue);
	set_share(object, "largest_container", &queue->largest);
	for (size_t i = 0; i < queue->part_count; i++)
		if (resources_choice_has_part(choice, &queue->parts[i]))
			json_array_append_new(parts, part_json(&queue->parts[i]));
	json_object_set_new(object, "parts", parts);
	for (size_t i = 0; i < queue->job_count; i++)
		json_array_append_new(jobs, job_json(&queue->jobs[i]));
	if (queue->job_count > 0)
		json_object_set(object, "job_shares", jobs);
	json_decref(jobs);
	return object;
}

json_t *resources_json_queues(const struct resources_choice *choice,
			      const struct scheduler_queues *queues)
{
	json_t *array = json_array();

	for (size_t i = 0; i < queues->count; i++)
		if (resources_choice_has_queue(choice, &queues->items[i]))
			json_array_append_new(array, queue_json(choice, &queues->items[i]));
	return array;
}
