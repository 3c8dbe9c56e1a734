/*
 * Where the cluster has room, node by node, while something is waited for. A beat tells a sum. The
 * service for clients tells whether one more container fits anywhere; an AM reaches it unless the
 * cluster uses Kerberos (find_clients_service() in yarn.c).
 */
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/timer.h"
#include "hadoop/message.h"
#include "hadoop/methods.h"
#include "scheduler/yarn_internal.h"

enum {
	/* Most of what is asked for comes before. */
	FIRST_MS = 2000,
	/* Between two questions, and for each node, since the answer is as long. */
	EACH_MS = 5000,
	NODE_MS = 20,
	/* Of two gangs that see the same room one asks first. */
	SPREAD_MS = 3000,
};

typedef Hadoop__NodeReportProto node;

static const Hadoop__GetClusterNodesResponseProto *room_of(const struct yarn *yarn)
{
	return (const Hadoop__GetClusterNodesResponseProto *)yarn->room;
}

/* ---- what one takes ----------------------------------------------------------------------- */

int64_t yarn_memory_of_one(const struct yarn *yarn, size_t kind)
{
	int64_t given = yarn->given[kind], asked = yarn->kinds[kind].memory;

	return given > asked ? given : asked;
}

bool yarn_counts_cores(const struct yarn *yarn)
{
	const Hadoop__RegisterApplicationMasterResponseProto *limits = yarn->limits;

	for (size_t i = 0; limits && i < limits->n_scheduler_resource_types; i++)
		if (limits->scheduler_resource_types[i] == HADOOP__SCHEDULER_RESOURCE_TYPES__CPU)
			return true;
	return false;
}

/* ---- nodes -------------------------------------------------------------------------------- */

/* Of the expression of the kind's own, or the application's. That of the queue is not known here.
 */
static const char *label_of(const struct yarn *yarn, size_t kind)
{
	const char *own = yarn->kinds[kind].node_label;
	const char *label = own && *own ? own : yarn->cluster->node_label;

	return label ? label : "";
}

static int64_t amount_of(const Hadoop__ResourceProto *resource, const char *name)
{
	for (size_t i = 0; resource && i < resource->n_resource_value_map; i++)
		if (str_equal(resource->resource_value_map[i]->key, name))
			return resource->resource_value_map[i]->value;
	return 0;
}

/* So many of the kind fit into `all` less `used`, which may be NULL. */
static int64_t count_fitting(const struct yarn *yarn, size_t kind, const Hadoop__ResourceProto *all,
			     const Hadoop__ResourceProto *used)
{
	const struct container_kind *is = &yarn->kinds[kind];
	int64_t memory = all->memory - (used ? used->memory : 0);
	int64_t count = memory / yarn_memory_of_one(yarn, kind);

	if (yarn_counts_cores(yarn) && is->vcores > 0) {
		int64_t cores = all->virtual_cores - (used ? used->virtual_cores : 0);
		count = cores / is->vcores < count ? cores / is->vcores : count;
	}
	for (size_t i = 0; i < is->amount_count; i++) {
		int64_t left =
			amount_of(all, is->amounts[i].name) - amount_of(used, is->amounts[i].name);
		if (is->amounts[i].value > 0 && left / is->amounts[i].value < count)
			count = left / is->amounts[i].value;
	}
	return count > 0 ? count : 0;
}

/* Empty, it could hold one. */
static bool is_usable(const struct yarn *yarn, size_t kind, const node *report)
{
	const char *label = report->n_node_labels > 0 ? report->node_labels[0] : "";

	return report->nodeid && report->nodeid->host && report->capability &&
	       str_equal(label, label_of(yarn, kind)) &&
	       count_fitting(yarn, kind, report->capability, NULL) > 0;
}

static bool is_avoided(const struct yarn *yarn, const node *report)
{
	return str_list_has(&yarn->avoided, report->nodeid->host);
}

bool yarn_room_count(const struct yarn *yarn, size_t kind, struct yarn_room *room)
{
	const Hadoop__GetClusterNodesResponseProto *nodes = room_of(yarn);

	*room = (struct yarn_room){0};
	for (size_t i = 0; nodes && i < nodes->n_nodereports; i++) {
		const node *report = nodes->nodereports[i];
		if (!is_usable(yarn, kind, report))
			continue;
		room->usable++;
		if (is_avoided(yarn, report)) {
			room->avoided++;
			continue;
		}
		int64_t left =
			report->capability->memory - (report->used ? report->used->memory : 0);
		room->free += left > 0 ? left : 0;
		room->fitting += count_fitting(yarn, kind, report->capability, report->used);
	}
	return room->usable > 0;
}

const char *yarn_room_oldest_avoided(const struct yarn *yarn, size_t kind)
{
	const Hadoop__GetClusterNodesResponseProto *nodes = room_of(yarn);

	for (size_t k = 0; k < yarn->avoided.count; k++)
		for (size_t i = 0; nodes && i < nodes->n_nodereports; i++)
			if (is_usable(yarn, kind, nodes->nodereports[i]) &&
			    str_equal(nodes->nodereports[i]->nodeid->host, yarn->avoided.items[k]))
				return yarn->avoided.items[k];
	return NULL;
}

/* ---- a gang that pauses ------------------------------------------------------------------- */

/* Of the nodes it is a bound for several kinds, since each is counted as if it were alone. Where
 * the queue could not give all, a gang that begins anew would take what another one lacks. */
static bool has_room_for(const struct yarn_gang *gang)
{
	const struct yarn *yarn = gang->yarn;
	int64_t *counts cleanup_free = mem_alloc_array(yarn->job->type_count, sizeof(*counts));
	const struct yarn_container *member;
	struct yarn_room room;
	int64_t needed_mib = 0;

	TAILQ_FOREACH(member, &gang->members, link)
	counts[member->request.type]++;
	for (size_t i = 0; i < yarn->job->type_count; i++) {
		if (counts[i] > 0 && (!yarn_room_count(yarn, i, &room) || room.fitting < counts[i]))
			return false;
		needed_mib += counts[i] * yarn_memory_of_one(yarn, i);
	}
	return needed_mib <= yarn->left_mib;
}

static void wake_gangs(struct yarn *yarn)
{
	struct yarn_gang *gang;

	TAILQ_FOREACH(gang, &yarn->gangs, link)
	{
		if (!gang->pausing || gang->is_woken || !has_room_for(gang))
			continue;
		gang->is_woken = true;
		timer_start(gang->timer, (int64_t)(random_u64() % SPREAD_MS));
	}
}

/* ---- the question ------------------------------------------------------------------------- */

static void on_nodes(void *data, const ProtobufCMessage *message, const struct rpc_error *error)
{
	struct yarn *yarn = data;

	yarn->room_is_asked = false;
	yarn->room_at = clock_monotonic_ms();
	message_free(yarn->room);
	yarn->room = error ? NULL : message_copy(message);
	if (error) {
		log_debug("where the cluster has room is not known: %s", error->text);
		return;
	}
	wake_gangs(yarn);
	yarn_pump_soon(yarn);
}

static void forget(struct yarn *yarn)
{
	yarn->waits_since = 0;
	message_free(yarn->room);
	yarn->room = NULL;
}

void yarn_room_ask(struct yarn *yarn)
{
	Hadoop__GetClusterNodesRequestProto request = HADOOP__GET_CLUSTER_NODES_REQUEST_PROTO__INIT;
	Hadoop__NodeStateProto states[] = {HADOOP__NODE_STATE_PROTO__NS_RUNNING};
	int64_t now = clock_monotonic_ms();

	if (TAILQ_EMPTY(&yarn->gangs)) {
		forget(yarn);
		return;
	}
	if (yarn->waits_since == 0)
		yarn->waits_since = now;
	if (!yarn->rm || yarn->room_is_asked || now < yarn->waits_since + FIRST_MS ||
	    (yarn->room_at > 0 && now < yarn->room_at + EACH_MS + NODE_MS * yarn->node_count))
		return;
	request.n_nodestates = array_length(states);
	request.nodestates = states;
	yarn->room_is_asked = true;
	rpc_call_start(yarn->rm, &RM_GET_CLUSTER_NODES, &request.base, on_nodes, yarn);
}
