#include "executor/metrics.h"

#include "base/clock.h"
#include "base/json.h"

static void set_network(json_t *metrics, struct network *network, const struct proc_list *processes)
{
	uint64_t receive, send;

	if (!network_look(network, processes, &receive, &send))
		return;
	json_set_int(metrics, "net_receive_bytes", (int64_t)receive);
	json_set_int(metrics, "net_send_bytes", (int64_t)send);
}

json_t *metrics_take(struct memory *memory, struct network *network, const struct gpu *gpu)
{
	struct proc_usage usage;
	struct proc_list processes;

	proc_tree_measure(memory->tree, &usage);
	if (usage.rss_bytes == 0)
		return NULL;
	json_t *metrics = json_object();
	proc_tree_list(memory->tree, &processes);
	memory_note(memory, usage.pss_bytes);
	json_set_int(metrics, "sampled_ms", clock_wall_ms());
	json_set_int(metrics, "rss_bytes", (int64_t)usage.rss_bytes);
	json_set_int(metrics, "pss_bytes", (int64_t)usage.pss_bytes);
	json_set_int(metrics, "cpu_ms", (int64_t)usage.cpu_ms);
	json_set_int(metrics, "read_bytes", (int64_t)usage.read_bytes);
	json_set_int(metrics, "write_bytes", (int64_t)usage.write_bytes);
	json_set_int(metrics, "processes", usage.processes);
	json_set_int(metrics, "threads", usage.threads);
	set_network(metrics, network, &processes);
	proc_list_finish(&processes);
	const json_t *gpus = gpu_metrics(gpu);
	if (gpus)
		json_object_set_new(metrics, "gpus", json_deep_copy(gpus));
	return metrics;
}
