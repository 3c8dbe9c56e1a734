#include "am/spec.h"

#include "base/mem.h"

static void add_addresses(struct cluster_type *to, const struct machine *machine, size_t type,
			  size_t count)
{
	to->addresses = mem_alloc_array(count, sizeof(*to->addresses));
	to->count = count;
	for (size_t i = 0; i < count; i++) {
		const struct task *task =
			machine_task(machine, machine_task_number(machine, type, (int)i));
		/* With FCFS the others may not have an address yet. */
		if (task->port == 0)
			continue;
		to->addresses[i].host = mem_strdup(task->host);
		to->addresses[i].port = task->port;
	}
}

struct cluster *spec_build(const struct job *job, const struct machine *machine)
{
	struct machine_status status;
	machine_status(machine, &status);
	struct cluster *cluster = mem_alloc(sizeof(*cluster));
	cluster->epoch = status.epoch;
	cluster->type_count = job->type_count;
	cluster->types = mem_alloc_array(job->type_count, sizeof(*cluster->types));
	for (size_t i = 0; i < job->type_count; i++) {
		cluster->types[i].name = job->types[i].name;
		if (machine_type_is_active(machine, i))
			add_addresses(&cluster->types[i], machine, i,
				      (size_t)job->types[i].instances);
	}
	return cluster;
}
