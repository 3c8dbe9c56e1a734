#include "am/spec.h"

#include <stdlib.h>

#include "base/mem.h"

static void add_address(struct cluster_type *to, const struct task *task)
{
	struct cluster_address *address = &to->addresses[to->count];

	to->slots[to->count++] = task->index;
	/* With FCFS the others may not have an address yet. */
	if (task->port == 0)
		return;
	address->host = mem_strdup(task->host);
	address->port = task->port;
}

/* Of an elastic type only the members of this epoch, with their own numbers where these are not
 * just counted up. */
static void add_addresses(struct cluster_type *to, const struct machine *machine, size_t type,
			  const struct job_type *described)
{
	int slots = job_type_slots(described);
	bool has_gaps = false;

	to->addresses = mem_alloc_array((size_t)slots, sizeof(*to->addresses));
	to->slots = mem_alloc_array((size_t)slots, sizeof(*to->slots));
	for (int i = 0; i < slots; i++) {
		size_t task = machine_task_number(machine, type, i);
		if (job_type_is_elastic(described) && !machine_task_is_member(machine, task))
			continue;
		has_gaps = has_gaps || to->count != (size_t)i;
		add_address(to, machine_task(machine, task));
	}
	if (has_gaps)
		return;
	free(to->slots);
	to->slots = NULL;
}

struct cluster *spec_build(const struct job *job, const struct machine *machine)
{
	struct machine_status status;
	machine_status(machine, &status);
	struct cluster *cluster = cluster_create(job, status.epoch);
	for (size_t i = 0; i < job->type_count; i++)
		if (machine_type_is_active(machine, i))
			add_addresses(&cluster->types[i], machine, i, &job->types[i]);
	return cluster;
}
