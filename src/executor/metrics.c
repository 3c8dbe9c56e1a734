#include "executor/metrics.h"

#include "base/clock.h"

static void set_network(struct metrics *metrics, struct network *network,
			const struct proc_list *processes)
{
	uint64_t receive, send;

	if (!network_look(network, processes, &receive, &send))
		return;
	metrics->net_receive_bytes = (int64_t)receive;
	metrics->net_send_bytes = (int64_t)send;
}

bool metrics_take(struct memory *memory, struct network *network, const struct gpu *gpu,
		  struct metrics *metrics)
{
	struct proc_usage usage;
	struct proc_list processes;

	proc_tree_measure(memory->tree, &usage);
	if (usage.rss_bytes == 0)
		return false;
	proc_tree_list(memory->tree, &processes);
	memory_note(memory, usage.pss_bytes, usage.rss_bytes);
	metrics_finish(metrics);
	*metrics = (struct metrics){
		.sampled_ms = clock_wall_ms(),
		.rss_bytes = (int64_t)usage.rss_bytes,
		.pss_bytes = (int64_t)usage.pss_bytes,
		.cpu_ms = (int64_t)usage.cpu_ms,
		.read_bytes = (int64_t)usage.read_bytes,
		.write_bytes = (int64_t)usage.write_bytes,
		.processes = usage.processes,
		.threads = usage.threads,
		.net_receive_bytes = -1,
		.net_send_bytes = -1,
		.step = -1,
		.steps = -1,
	};
	set_network(metrics, network, &processes);
	proc_list_finish(&processes);
	gpu_add(gpu, metrics);
	return true;
}
