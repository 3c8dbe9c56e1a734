#include "framework/slots.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "framework/rank.h"

struct host {
	int size;  /* processes */
	int first; /* rank of its first */
	int next;  /* local rank of the next to be placed */
};

/* In the order of their ranks, with nothing else known yet. */
static int list_processes(const struct job *job, const struct cluster *cluster, struct slots *slots,
			  struct err *err)
{
	size_t count, *order cleanup_free = rank_order(job, cluster, &count);
	size_t total = 0;

	for (size_t i = 0; i < count; i++)
		total += cluster->types[order[i]].count * (size_t)job->types[order[i]].processes;
	slots->items = mem_alloc_array(total, sizeof(*slots->items));
	for (size_t i = 0; i < count; i++) {
		const struct cluster_type *type = &cluster->types[order[i]];
		int processes = job->types[order[i]].processes;
		for (int k = 0; k < (int)type->count * processes; k++) {
			const char *host = type->addresses[k / processes].host;
			if (!host)
				return err_set(err, ERR_INPUT,
					       "the cluster spec has no address for %s:%d",
					       type->name, k / processes);
			slots->items[slots->count++] = (struct slot){
				.host = host,
				.type = order[i],
				.index = k / processes,
				.process = k % processes,
			};
		}
	}
	return 0;
}

/* By name, in the order of their appearance. */
static struct map *list_hosts(const struct slots *slots)
{
	struct map *hosts = map_create(free);
	const char *name;
	void *value;
	int rank = 0;

	for (size_t i = 0; i < slots->count; i++) {
		struct host *host = map_get(hosts, slots->items[i].host);
		if (!host) {
			host = mem_alloc(sizeof(*host));
			map_set(hosts, slots->items[i].host, host);
		}
		host->size++;
	}
	for (size_t cursor = 0; map_next(hosts, &cursor, &name, &value);) {
		struct host *host = value;
		host->first = rank;
		rank += host->size;
	}
	return hosts;
}

/* Moves the processes of a host next to each other. */
static void gather(struct slots *slots, const struct map *hosts)
{
	struct slot *items = mem_alloc_array(slots->count, sizeof(*items));

	for (size_t i = 0; i < slots->count; i++) {
		struct slot slot = slots->items[i];
		struct host *host = map_get(hosts, slot.host);
		slot.local_rank = host->next++;
		slot.local_size = host->size;
		slot.rank = host->first + slot.local_rank;
		items[slot.rank] = slot;
	}
	free(slots->items);
	slots->items = items;
}

/* Hosts need not have the same number of processes: there are fewer of a high local rank. */
static void count_across(struct slots *slots)
{
	int *sizes cleanup_free = mem_alloc_array(slots->count, sizeof(*sizes));

	for (size_t i = 0; i < slots->count; i++)
		slots->items[i].cross_rank = sizes[slots->items[i].local_rank]++;
	for (size_t i = 0; i < slots->count; i++)
		slots->items[i].cross_size = sizes[slots->items[i].local_rank];
}

void slots_number(struct slots *slots)
{
	struct map *hosts = list_hosts(slots);

	gather(slots, hosts);
	map_destroy(hosts);
	count_across(slots);
}

int slots_build(const struct job *job, const struct cluster *cluster, struct slots *slots,
		struct err *err)
{
	if (list_processes(job, cluster, slots, err) < 0)
		return -1;
	slots_number(slots);
	return 0;
}

void slots_finish(struct slots *slots)
{
	free(slots->items);
}

const struct slot *slots_find(const struct slots *slots, const struct framework_task *task)
{
	for (size_t i = 0; i < slots->count; i++) {
		const struct slot *slot = &slots->items[i];
		if (slot->type == task->type && slot->index == task->index &&
		    slot->process == task->process)
			return slot;
	}
	return NULL;
}

json_t *slots_to_json(const struct slots *slots)
{
	json_t *list = json_array();

	for (size_t i = 0; i < slots->count; i++) {
		const struct slot *slot = &slots->items[i];
		json_array_append_new(list,
				      json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:i}", "hostname",
						slot->host, "rank", slot->rank, "localRank",
						slot->local_rank, "crossRank", slot->cross_rank,
						"size", (int)slots->count, "localSize",
						slot->local_size, "crossSize", slot->cross_size));
	}
	return list;
}

char *slots_hosts(const struct slots *slots)
{
	struct str text = {0};

	for (size_t i = 0; i < slots->count; i += (size_t)slots->items[i].local_size)
		str_append_format(&text, "%s%s:%d", i > 0 ? "," : "", slots->items[i].host,
				  slots->items[i].local_size);
	return str_steal(&text);
}
