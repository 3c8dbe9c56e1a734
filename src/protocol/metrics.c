#include "protocol/metrics.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "protocol/message.h"

#define AMOUNT(type, member)                                                                       \
	MESSAGE_FIELD(type, #member, member, FIELD_KNOWN_INT64, MESSAGE_AMOUNT_MAX)

static const struct job_field fields[] = {
	AMOUNT(metrics, sampled_ms),
	AMOUNT(metrics, rss_bytes),
	AMOUNT(metrics, pss_bytes),
	AMOUNT(metrics, cpu_ms),
	AMOUNT(metrics, read_bytes),
	AMOUNT(metrics, write_bytes),
	AMOUNT(metrics, processes),
	AMOUNT(metrics, threads),
	AMOUNT(metrics, net_receive_bytes),
	AMOUNT(metrics, net_send_bytes),
	AMOUNT(metrics, step),
	AMOUNT(metrics, steps),
};
enum { COUNT = array_length(fields), STEPS = 2 /* the last ones */ };

static const struct job_field gpu_fields[] = {
	MESSAGE_FIELD(metrics_gpu, "index", index, FIELD_INT, METRICS_GPU_INDEX_MAX),
	MESSAGE_FIELD(metrics_gpu, "utilization_percent", utilization_percent, FIELD_KNOWN_INT64,
		      100),
	AMOUNT(metrics_gpu, memory_used_mib),
	AMOUNT(metrics_gpu, memory_total_mib),
	MESSAGE_FIELD(metrics_gpu, "power_watts", power_watts, FIELD_KNOWN_INT64,
		      METRICS_WATTS_MAX),
};

/* ---- encoding ----------------------------------------------------------------------------- */

static json_t *gpus_to_json(const struct metrics *metrics)
{
	json_t *gpus = json_array();

	for (size_t i = 0; i < metrics->gpu_count; i++) {
		json_t *row = json_object();
		job_fields_write(gpu_fields, array_length(gpu_fields), &metrics->gpus[i], row);
		json_array_append_new(gpus, row);
	}
	return gpus;
}

json_t *metrics_to_json(const struct metrics *metrics)
{
	json_t *object = json_object();

	job_fields_write(fields + 1, COUNT - 1, metrics, object);
	json_object_set_new(object, "gpus", gpus_to_json(metrics));
	return object;
}

void metrics_set_member(json_t *body, const struct metrics *metrics)
{
	json_t *object = json_object();

	job_fields_write(fields, COUNT - STEPS, metrics, object);
	if (metrics->gpu_count > 0)
		json_object_set_new(object, "gpus", gpus_to_json(metrics));
	job_fields_write(fields + COUNT - STEPS, STEPS, metrics, object);
	json_object_set_new(body, "metrics", object);
}

/* ---- decoding ----------------------------------------------------------------------------- */

static int read_gpus(const json_t *list, struct metrics *metrics, struct err *err)
{
	if (!list)
		return 0;
	if (!json_is_array(list) || json_array_size(list) > METRICS_GPUS_MAX)
		return err_set(err, ERR_INPUT, "metrics.gpus: is not a list of at most %d",
			       METRICS_GPUS_MAX);
	metrics->gpu_count = json_array_size(list);
	metrics->gpus = mem_alloc_array(metrics->gpu_count, sizeof(*metrics->gpus));
	for (size_t i = 0; i < metrics->gpu_count; i++) {
		metrics->gpus[i].power_watts = -1;
		if (job_fields_read(gpu_fields, array_length(gpu_fields), json_array_get(list, i),
				    &metrics->gpus[i], err) < 0)
			return err_wrap(err, "metrics.gpus");
	}
	return 0;
}

int metrics_from_json(const json_t *object, struct metrics *metrics, struct err *err)
{
	*metrics = (struct metrics){
		.net_receive_bytes = -1, .net_send_bytes = -1, .step = -1, .steps = -1};
	if (job_fields_read(fields, COUNT, object, metrics, err) < 0)
		return err_wrap(err, "metrics");
	if (read_gpus(json_object_get(object, "gpus"), metrics, err) == 0)
		return 0;
	metrics_finish(metrics);
	return -1;
}

int metrics_read_member(const json_t *body, bool *has_metrics, struct metrics *metrics,
			struct err *err)
{
	const json_t *object = json_object_get(body, "metrics");

	*has_metrics = object != NULL;
	return object ? metrics_from_json(object, metrics, err) : 0;
}

void metrics_copy(struct metrics *to, const struct metrics *from)
{
	*to = *from;
	to->gpus = mem_alloc_array(from->gpu_count, sizeof(*to->gpus));
	if (from->gpu_count > 0)
		memcpy(to->gpus, from->gpus, from->gpu_count * sizeof(*to->gpus));
}

void metrics_finish(struct metrics *metrics)
{
	free(metrics->gpus);
	*metrics = (struct metrics){0};
}
