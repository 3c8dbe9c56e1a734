#include "scheduler/capacity.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/proc.h"
#include "scheduler/cgroup.h"
#include "scheduler/gpus.h"

enum { SLACK_LIMIT_MIB = 1024 };

static int read_count(const json_t *config, const char *key, int64_t *count, struct err *err)
{
	const char *text = job_config_value(config, key);

	if (text && str_parse_int(text, 0, 1 << 20, count) < 0)
		return err_set(err, ERR_CONFIG, "%s: \"%s\" is not a number; write 4", key, text);
	return 0;
}

static int64_t machine_memory(const char *root)
{
	char *path cleanup_free = mem_printf("%s/proc/meminfo", root);
	FILE *file cleanup_file = fopen(path, "re");
	char line[256];
	int64_t kib = 0;

	while (file && kib == 0 && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "MemTotal: %" SCNd64 " kB", &kib) != 1)
			kib = 0;
	}
	return kib >> 10;
}

static int find_memory(const char *root, pid_t process, const json_t *config,
		       struct capacity *capacity, struct err *err)
{
	const char *text = job_config_value(config, "tony.local.memory");

	if (text) {
		if (str_parse_mib(text, &capacity->memory) < 0)
			return err_set(err, ERR_CONFIG,
				       "tony.local.memory: \"%s\" is not a size; write 16g", text);
		return 0;
	}
	int64_t allowed = cgroup_memory_allowed(root, process);
	int64_t total = machine_memory(root);
	if (total == 0 || allowed < total) {
		capacity->memory = allowed;
		return 0;
	}
	capacity->memory = total + (total / 8 < SLACK_LIMIT_MIB ? total / 8 : SLACK_LIMIT_MIB);
	return 0;
}

static int64_t count_cores(pid_t process)
{
	cpu_set_t set;

	/* Fails on machines with more processors than the set has room for. */
	if (sched_getaffinity(process, sizeof(set), &set) < 0)
		return sysconf(_SC_NPROCESSORS_ONLN);
	return CPU_COUNT(&set);
}

/* More GPUs than were found are taken on the user's word, less are a limit. */
static void limit_gpus(struct str_list *gpus, int64_t count)
{
	struct str_list chosen = {0};

	for (int64_t i = 0; i < count; i++) {
		if ((size_t)i < gpus->count)
			str_list_add(&chosen, gpus->items[i]);
		else
			str_list_add_format(&chosen, "%" PRId64, i);
	}
	str_list_finish(gpus);
	*gpus = chosen;
}

/* NULL: it is not set. The caller frees. */
static char *find_visible(pid_t process)
{
	return process ? proc_variable(process, "CUDA_VISIBLE_DEVICES")
		       : mem_strdup(getenv("CUDA_VISIBLE_DEVICES"));
}

int capacity_find(const char *root, pid_t process, const json_t *config, struct capacity *capacity,
		  struct err *err)
{
	struct capacity found = {.cores = count_cores(process)};
	char *visible cleanup_free = find_visible(process);
	int64_t gpus = -1;

	if (find_memory(root, process, config, &found, err) < 0 ||
	    read_count(config, "tony.local.vcores", &found.vcores, err) < 0 ||
	    read_count(config, "tony.local.gpus", &gpus, err) < 0 ||
	    read_count(config, "tony.local.max-gpus-per-user", &found.max_gpus, err) < 0)
		return -1;
	found.has_gpus = gpus_find(root, visible, &found.gpus);
	if (gpus >= 0)
		limit_gpus(&found.gpus, gpus);
	*capacity = found;
	return 0;
}

void capacity_finish(struct capacity *capacity)
{
	str_list_finish(&capacity->gpus);
}

static char *refusal(const char *unit, int64_t needed, int64_t there, const char *key)
{
	return mem_printf("%" PRId64 " %s%s; this machine has %" PRId64 " (%s)", needed, unit,
			  str_plural(needed), there, key);
}

char *capacity_refusal(const struct capacity *capacity, const struct share *need,
		       const char **resource)
{
	*resource = "memory";
	if (need->memory > capacity->memory) {
		char *needed cleanup_free = str_format_mib_beside(need->memory, capacity->memory);
		char *there cleanup_free = str_format_mib_beside(capacity->memory, need->memory);
		return mem_printf("%s; this machine has %s (tony.local.memory)", needed, there);
	}
	*resource = "gpus";
	if (need->gpus > (int64_t)capacity->gpus.count)
		return refusal("GPU", need->gpus, (int64_t)capacity->gpus.count, "tony.local.gpus");
	if (capacity->max_gpus > 0 && need->gpus > capacity->max_gpus)
		return mem_printf("%" PRId64 " GPU%s; a user may hold %" PRId64
				  " here (tony.local.max-gpus-per-user)",
				  need->gpus, str_plural(need->gpus), capacity->max_gpus);
	*resource = "vcores";
	if (capacity->vcores > 0 && need->vcores > capacity->vcores)
		return refusal("vcore", need->vcores, capacity->vcores, "tony.local.vcores");
	return NULL;
}

char *capacity_refusal_of_cores(const struct capacity *capacity, int64_t vcores)
{
	if (capacity->vcores > 0 || vcores <= capacity->cores)
		return NULL;
	return mem_printf("%" PRId64 " vcore%s; this machine has %" PRId64
			  " core%s (tony.local.vcores)",
			  vcores, str_plural(vcores), capacity->cores, str_plural(capacity->cores));
}
