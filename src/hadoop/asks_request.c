#include <stdlib.h>

#include "base/mem.h"
#include "hadoop/asks_internal.h"

static Hadoop__PriorityProto *priority_of(size_t kind)
{
	Hadoop__PriorityProto *priority = mem_alloc(sizeof(*priority));

	hadoop__priority_proto__init(priority);
	priority->has_priority = true;
	priority->priority = (int32_t)kind + 1; /* distinct: else one ask replaces another */
	return priority;
}

static void add_ask(Hadoop__AllocateRequestProto *request, struct kind *kind, size_t number,
		    const char *place, int32_t count)
{
	Hadoop__ResourceRequestProto *ask = mem_alloc(sizeof(*ask));

	hadoop__resource_request_proto__init(ask);
	ask->priority = priority_of(number);
	ask->resource_name = (char *)place;
	ask->capability = &kind->resource;
	ask->execution_type_request = &kind->execution_type;
	ask->has_num_containers = ask->has_relax_locality = ask->has_allocation_request_id = true;
	ask->num_containers = count;
	ask->relax_locality = true;
	ask->node_label_expression = (char *)kind->is->node_label;
	ask->allocation_request_id = (int64_t)number + 1;
	request->ask = mem_realloc_array(request->ask, request->n_ask + 1, sizeof(ask));
	request->ask[request->n_ask++] = ask;
}

static bool is_avoided(const struct asks *asks, const char *host)
{
	const struct avoidance *avoidance = map_get(asks->hosts, host);

	return avoidance && avoidance->wanted;
}

static bool has_near_nodes(const struct kind *kind)
{
	return kind->is->near_nodes && kind->is->near_nodes->count > 0;
}

/* `count`: of each rack; each node gets its share of it. */
static void add_nodes(const struct asks *asks, Hadoop__AllocateRequestProto *request,
		      struct kind *kind, size_t number, int32_t count)
{
	bool near = has_near_nodes(kind);
	const struct str_list *nodes = near ? kind->is->near_nodes : asks->nodes;
	const struct str_list *racks = near ? kind->is->near_racks : asks->racks;
	int32_t usable = 0;

	for (size_t i = 0; i < nodes->count; i++)
		usable += !is_avoided(asks, nodes->items[i]);
	int32_t share = usable > 0 ? (count + usable - 1) / usable : 0;
	for (size_t i = 0; i < nodes->count; i++) {
		const char *host = nodes->items[i];
		add_ask(request, kind, number, host, is_avoided(asks, host) ? 0 : share);
	}
	for (size_t i = 0; i < racks->count; i++)
		add_ask(request, kind, number, racks->items[i], count);
}

/*
 * A CapacityScheduler gives one container for each heartbeat of a node to an ask for any node; what
 * is asked of a node by its name comes all at once. So with more containers than nodes each node is
 * asked for its share: that is one round of heartbeats, and as even. Nodes near the data are named
 * always, and for as long as something is wanted: the scheduler waits for them as long as it is set
 * up to, and then takes others. Only an ask for any node may have a label.
 */
static void add_asks(const struct asks *asks, Hadoop__AllocateRequestProto *request,
		     struct kind *kind, size_t number)
{
	bool names = (asks->names_nodes || has_near_nodes(kind)) && !kind->is->node_label &&
		     kind->wanted > 0;

	if (names || kind->named)
		add_nodes(asks, request, kind, number, names ? kind->wanted : 0);
	add_ask(request, kind, number, "*", kind->wanted);
	kind->told = kind->wanted;
	kind->named = names;
}

static void add_scheduling_request(Hadoop__AllocateRequestProto *request, struct kind *kind,
				   size_t number, struct single *single)
{
	Hadoop__SchedulingRequestProto *ask = mem_alloc(sizeof(*ask));
	Hadoop__ResourceSizingProto *sizing = mem_alloc(sizeof(*sizing));
	const struct str_list *tags = kind->is->tags;

	hadoop__scheduling_request_proto__init(ask);
	hadoop__resource_sizing_proto__init(sizing);
	sizing->has_numallocations = true;
	sizing->numallocations = single->cancelled ? 0 : 1;
	sizing->resources = &kind->resource;
	ask->resourcesizing = sizing;
	ask->has_allocationrequestid = true;
	ask->allocationrequestid = single->id;
	ask->priority = priority_of(number);
	ask->n_allocationtags = tags ? tags->count : 0;
	ask->allocationtags = tags ? tags->items : NULL;
	ask->executiontype = &kind->execution_type;
	ask->placementconstraint = &kind->placement;
	request->scheduling_requests = mem_realloc_array(
		request->scheduling_requests, request->n_scheduling_requests + 1, sizeof(ask));
	request->scheduling_requests[request->n_scheduling_requests++] = ask;
	single->told = true;
}

static void add_singles(Hadoop__AllocateRequestProto *request, struct kind *kind, size_t number)
{
	for (size_t i = kind->single_count; i-- > 0;) {
		struct single *single = &kind->singles[i];
		if (single->told && !single->cancelled)
			continue;
		add_scheduling_request(request, kind, number, single);
		if (single->cancelled)
			asks_drop_single(kind, i);
	}
}

static void add_releases(const struct asks *asks, Hadoop__AllocateRequestProto *request)
{
	size_t cursor = 0;
	const char *key;
	void *value;

	request->release = mem_alloc_array(map_count(asks->releases), sizeof(*request->release));
	while (map_next(asks->releases, &cursor, &key, &value)) {
		struct release *release = value;
		if (!release->told)
			request->release[request->n_release++] = release->container;
		release->told = true;
	}
}

static void add_hosts(const struct asks *asks, Hadoop__AllocateRequestProto *request)
{
	Hadoop__ResourceBlacklistRequestProto *hosts = mem_alloc(sizeof(*hosts));
	size_t count = map_count(asks->hosts), cursor = 0;
	const char *key;
	void *value;

	hadoop__resource_blacklist_request_proto__init(hosts);
	hosts->blacklist_additions = mem_alloc_array(count, sizeof(char *));
	hosts->blacklist_removals = mem_alloc_array(count, sizeof(char *));
	while (map_next(asks->hosts, &cursor, &key, &value)) {
		struct avoidance *avoidance = value;
		if (avoidance->wanted == avoidance->told)
			continue;
		if (avoidance->wanted)
			hosts->blacklist_additions[hosts->n_blacklist_additions++] = (char *)key;
		else
			hosts->blacklist_removals[hosts->n_blacklist_removals++] = (char *)key;
		avoidance->told = avoidance->wanted;
	}
	request->blacklist_request = hosts;
}

void asks_fill(struct asks *asks, Hadoop__AllocateRequestProto *request)
{
	for (size_t i = 0; i < asks->kind_count; i++) {
		struct kind *kind = &asks->kinds[i];
		if (kind->is_single)
			add_singles(request, kind, i);
		else if (kind->wanted != kind->told ||
			 (kind->named && !asks->names_nodes && !has_near_nodes(kind)))
			add_asks(asks, request, kind, i);
	}
	add_releases(asks, request);
	add_hosts(asks, request);
	asks->changed = false;
}

void asks_sent(Hadoop__AllocateRequestProto *request)
{
	for (size_t i = 0; i < request->n_ask; i++) {
		free(request->ask[i]->priority);
		free(request->ask[i]);
	}
	for (size_t i = 0; i < request->n_scheduling_requests; i++) {
		free(request->scheduling_requests[i]->priority);
		free(request->scheduling_requests[i]->resourcesizing);
		free(request->scheduling_requests[i]);
	}
	free(request->ask);
	free(request->scheduling_requests);
	free(request->release);
	free(request->blacklist_request->blacklist_additions);
	free(request->blacklist_request->blacklist_removals);
	free(request->blacklist_request);
}
