#include "executor/metrics.h"

#include <unistd.h>

#include "base/json.h"
#include "base/proc.h"

json_t *metrics_take(struct memory *memory, const struct gpu *gpu)
{
	struct proc_usage usage;
	json_t *metrics = json_object();

	proc_measure_descendants(getpid(), &usage);
	memory_note(memory, usage.pss_bytes);
	json_set_int(metrics, "rss_bytes", (int64_t)usage.rss_bytes);
	json_set_int(metrics, "pss_bytes", (int64_t)usage.pss_bytes);
	json_set_int(metrics, "cpu_ms", (int64_t)usage.cpu_ms);
	json_set_int(metrics, "read_bytes", (int64_t)usage.read_bytes);
	json_set_int(metrics, "write_bytes", (int64_t)usage.write_bytes);
	json_set_int(metrics, "processes", usage.processes);
	json_set_int(metrics, "threads", usage.threads);
	const json_t *gpus = gpu_metrics(gpu);
	if (gpus)
		json_object_set_new(metrics, "gpus", json_deep_copy(gpus));
	return metrics;
}
