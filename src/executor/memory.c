#include "executor/memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "scheduler/cgroup.h"

enum {
	MIB = 1 << 20,
	LOOK_MS = 1000,
	LOOK_OFTEN_MS = 250, /* above NEAR_PERCENT / 2 of the limit */
	NEAR_PERCENT = 95,
	VMSTAT_CAP = 64 << 10,
};

void memory_init(struct memory *memory, struct proc_tree *tree, int64_t limit_mib,
		 const char *cgroup, bool enforce)
{
	*memory = (struct memory){
		.tree = tree,
		.limit = (uint64_t)limit_mib * MIB,
		.cgroup = cgroup,
		.machine_kills = INT64_MAX,
		.enforce = enforce && limit_mib > 0,
	};
}

/* Since it started; INT64_MAX: the kernel does not tell. */
static int64_t count_machine_kills(void)
{
	char *text cleanup_free = fs_read_file("/proc/vmstat", VMSTAT_CAP, NULL, NULL);
	const char *line = text ? strstr(text, "\noom_kill ") : NULL;

	return line ? strtoll(line + strlen("\noom_kill "), NULL, 10) : INT64_MAX;
}

void memory_begin(struct memory *memory)
{
	memory->used = memory->peak = memory->resident_peak = 0;
	memory->machine_kills = count_machine_kills();
	memory->kills = memory->cgroup ? cgroup_oom_kills(memory->cgroup) : 0;
}

void memory_note(struct memory *memory, uint64_t used, uint64_t resident)
{
	memory->used = used;
	if (used > memory->peak)
		memory->peak = used;
	if (resident > memory->resident_peak)
		memory->resident_peak = resident;
}

bool memory_look(struct memory *memory)
{
	int64_t begin = clock_monotonic_ms();
	uint64_t resident = proc_tree_resident_set(memory->tree);

	/* The resident set counts what processes share once for each. The true share costs a walk
	 * over all their pages: only when it decides. */
	uint64_t used = memory->limit > 0 && resident > memory->limit
				? proc_tree_proportional_set(memory->tree)
				: proc_tree_proportional_estimate(memory->tree);
	memory->cost_ms = clock_monotonic_ms() - begin;
	memory_note(memory, used, resident);
	return memory->enforce && used > memory->limit;
}

int64_t memory_interval(const struct memory *memory)
{
	bool often = memory->used > memory->limit / 100 * (NEAR_PERCENT / 2);
	int64_t interval = often ? LOOK_OFTEN_MS : LOOK_MS;

	/* There are as many executors on the machine as tasks: none of them takes more than a
	 * hundredth of a core for that. */
	return memory->cost_ms > interval / 100 ? memory->cost_ms * 100 : interval;
}

bool memory_kernel_killed(const struct memory *memory)
{
	return memory->cgroup && cgroup_oom_kills(memory->cgroup) > memory->kills;
}

int64_t memory_machine_kills(const struct memory *memory)
{
	int64_t kills = count_machine_kills();

	return kills != INT64_MAX && kills > memory->machine_kills ? kills - memory->machine_kills
								   : 0;
}

bool memory_was_near(const struct memory *memory)
{
	return memory->limit > 0 && memory->peak >= memory->limit / 100 * NEAR_PERCENT;
}

char *memory_peak_text(const struct memory *memory)
{
	double limit = (double)memory->limit / MIB, peak = (double)memory->peak / MIB;

	if (limit >= 1024)
		return mem_printf("%.1f of %.1f GiB", peak / 1024, limit / 1024);
	return mem_printf("%.0f of %.0f MiB", peak, limit);
}

char *memory_limit_text(const struct memory *memory)
{
	return str_format_mib((double)memory->limit / MIB);
}
