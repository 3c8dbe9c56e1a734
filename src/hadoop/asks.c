#include "hadoop/asks.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "hadoop/id.h"
#include "hadoop/message.h"

/* Ids of single SchedulingRequests; below are the kinds' own. */
#define FIRST_SINGLE_ID INT64_C(1000000)

/* One container asked for by a SchedulingRequest of its own: that has the same meaning whether the
 * cluster's handler takes numbers as totals ("scheduler") or as additions ("placement-processor").
 */
struct single {
	int64_t id;
	bool told, cancelled;
};

struct kind {
	const struct container_kind *is;
	bool is_single;
	int32_t wanted; /* how many are to come */
	int32_t told;	/* how many the ResourceManager thinks are to come */
	Hadoop__ResourceProto resource;
	struct single *singles;
	size_t single_count;
};

struct release {
	Hadoop__ContainerIdProto *container;
	bool told;
};

struct avoidance {
	bool wanted, told;
};

struct asks {
	struct kind *kinds;
	size_t kind_count;
	int64_t next_id;
	struct map *releases; /* by container id */
	struct map *hosts;    /* by name: struct avoidance */
	bool changed;
};

static void free_release(void *value)
{
	struct release *release = value;

	message_free(release->container);
	free(release);
}

/* ---- kinds -------------------------------------------------------------------------------- */

static void set_resource(Hadoop__ResourceProto *resource, const struct container_kind *kind)
{
	size_t count = kind->amount_count;
	Hadoop__ResourceInformationProto *amounts = mem_alloc_array(count + 1, sizeof(*amounts));

	hadoop__resource_proto__init(resource);
	resource->has_memory = resource->has_virtual_cores = true;
	resource->memory = kind->memory;
	resource->virtual_cores = kind->vcores;
	resource->n_resource_value_map = count;
	/* One block: the pointers' array is freed together with what they point to. */
	resource->resource_value_map = mem_alloc_array(count + 1, sizeof(amounts));
	resource->resource_value_map[count] = amounts;
	for (size_t i = 0; i < count; i++) {
		hadoop__resource_information_proto__init(&amounts[i]);
		amounts[i].key = kind->amounts[i].name;
		amounts[i].has_value = amounts[i].has_type = true;
		amounts[i].value = kind->amounts[i].value;
		amounts[i].units = (char *)"";
		resource->resource_value_map[i] = &amounts[i];
	}
}

static void free_resource(Hadoop__ResourceProto *resource)
{
	free(resource->resource_value_map[resource->n_resource_value_map]);
	free(resource->resource_value_map);
}

struct asks *asks_create(const struct container_kind *kinds, size_t count)
{
	struct asks *asks = mem_alloc(sizeof(*asks));

	asks->kinds = mem_alloc_array(count, sizeof(*asks->kinds));
	asks->kind_count = count;
	asks->next_id = FIRST_SINGLE_ID;
	asks->releases = map_create(free_release);
	asks->hosts = map_create(free);
	for (size_t i = 0; i < count; i++) {
		struct kind *kind = &asks->kinds[i];
		kind->is = &kinds[i];
		kind->is_single = kinds[i].placement || (kinds[i].tags && kinds[i].tags->count > 0);
		set_resource(&kind->resource, &kinds[i]);
	}
	return asks;
}

void asks_destroy(struct asks *asks)
{
	if (!asks)
		return;
	for (size_t i = 0; i < asks->kind_count; i++) {
		free_resource(&asks->kinds[i].resource);
		free(asks->kinds[i].singles);
	}
	map_destroy(asks->releases);
	map_destroy(asks->hosts);
	free(asks->kinds);
	free(asks);
}

/* ---- what is wanted ----------------------------------------------------------------------- */

static void drop_single(struct kind *kind, size_t index)
{
	kind->singles[index] = kind->singles[--kind->single_count];
}

static void add_single(struct asks *asks, struct kind *kind)
{
	kind->singles =
		mem_realloc_array(kind->singles, kind->single_count + 1, sizeof(*kind->singles));
	kind->singles[kind->single_count++] = (struct single){.id = asks->next_id++};
}

static void cancel_single(struct kind *kind)
{
	for (size_t i = kind->single_count; i-- > 0;) {
		struct single *single = &kind->singles[i];
		if (single->cancelled)
			continue;
		if (single->told)
			single->cancelled = true;
		else
			drop_single(kind, i);
		return;
	}
}

void asks_want(struct asks *asks, size_t number, int32_t count)
{
	struct kind *kind = &asks->kinds[number];

	if (kind->wanted == count)
		return;
	for (int32_t i = kind->wanted; kind->is_single && i < count; i++)
		add_single(asks, kind);
	for (int32_t i = kind->wanted; kind->is_single && i > count; i--)
		cancel_single(kind);
	kind->wanted = count;
	asks->changed = true;
}

int32_t asks_wanted(const struct asks *asks, size_t kind)
{
	return asks->kinds[kind].wanted;
}

int64_t asks_open(const struct asks *asks)
{
	int64_t open = 0;

	for (size_t i = 0; i < asks->kind_count; i++)
		open += asks->kinds[i].wanted;
	return open;
}

/* A container that came for a cancelled single is surplus, and so is one whose id nobody knows. */
static bool take_single(struct kind *kind, int64_t id)
{
	for (size_t i = 0; i < kind->single_count; i++) {
		if (kind->singles[i].id != id)
			continue;
		bool wanted = !kind->singles[i].cancelled;
		drop_single(kind, i);
		kind->wanted -= wanted;
		return wanted;
	}
	return false;
}

static bool take(struct kind *kind, int64_t id)
{
	if (kind->is_single)
		return take_single(kind, id);
	if (kind->told > 0)
		kind->told--;
	if (kind->wanted == 0)
		return false;
	kind->wanted--;
	return true;
}

int64_t asks_take(struct asks *asks, const Hadoop__ContainerProto *container)
{
	int64_t id = container->allocation_request_id;
	int64_t number = container->priority ? container->priority->priority - INT64_C(1) : -1;

	if (number < 0 || number >= (int64_t)asks->kind_count)
		return -1;
	return take(&asks->kinds[number], id) ? number : -1;
}

void asks_rejected(struct asks *asks, const Hadoop__SchedulingRequestProto *request)
{
	for (size_t i = 0; i < asks->kind_count; i++) {
		struct kind *kind = &asks->kinds[i];
		for (size_t k = 0; k < kind->single_count; k++) {
			if (kind->singles[k].id == request->allocationrequestid)
				kind->singles[k].told = false;
		}
	}
}

/* ---- releases and hosts ------------------------------------------------------------------- */

void asks_release(struct asks *asks, const Hadoop__ContainerIdProto *container)
{
	char *id cleanup_free = hadoop_container_id_text(container);
	struct release *release;

	if (map_get(asks->releases, id))
		return;
	release = mem_alloc(sizeof(*release));
	release->container = message_copy(&container->base);
	map_set(asks->releases, id, release);
	asks->changed = true;
}

void asks_forget(struct asks *asks, const Hadoop__ContainerIdProto *container)
{
	char *id cleanup_free = hadoop_container_id_text(container);

	map_remove(asks->releases, id);
}

void asks_avoid(struct asks *asks, const char *host, bool avoid)
{
	struct avoidance *avoidance = map_get(asks->hosts, host);

	if (!avoidance) {
		avoidance = mem_alloc(sizeof(*avoidance));
		map_set(asks->hosts, host, avoidance);
	}
	if (avoidance->wanted != avoid)
		asks->changed = true;
	avoidance->wanted = avoid;
}

/* ---- what was said ------------------------------------------------------------------------ */

bool asks_changed(const struct asks *asks)
{
	return asks->changed;
}

void asks_repeat(struct asks *asks)
{
	size_t cursor = 0;
	const char *key;
	void *value;

	for (size_t i = 0; i < asks->kind_count; i++) {
		struct kind *kind = &asks->kinds[i];
		kind->told = 0;
		for (size_t k = kind->single_count; k-- > 0;) {
			kind->singles[k].told = false;
			if (kind->singles[k].cancelled)
				drop_single(kind, k);
		}
	}
	while (map_next(asks->releases, &cursor, &key, &value))
		((struct release *)value)->told = false;
	cursor = 0;
	while (map_next(asks->hosts, &cursor, &key, &value))
		((struct avoidance *)value)->told = false;
	asks->changed = true;
}

void asks_drop(struct asks *asks)
{
	for (size_t i = 0; i < asks->kind_count; i++) {
		struct kind *kind = &asks->kinds[i];
		kind->wanted = kind->told = 0;
		kind->single_count = 0;
	}
}

void asks_drop_releases(struct asks *asks)
{
	size_t cursor = 0;
	const char *key;
	void *value;

	while (map_next(asks->releases, &cursor, &key, &value))
		((struct release *)value)->told = true;
}

/* ---- the request -------------------------------------------------------------------------- */

static Hadoop__PriorityProto *priority_of(size_t kind)
{
	Hadoop__PriorityProto *priority = mem_alloc(sizeof(*priority));

	hadoop__priority_proto__init(priority);
	priority->has_priority = true;
	priority->priority = (int32_t)kind + 1; /* distinct: else one ask replaces another */
	return priority;
}

static void add_ask(Hadoop__AllocateRequestProto *request, struct kind *kind, size_t number)
{
	Hadoop__ResourceRequestProto *ask = mem_alloc(sizeof(*ask));

	hadoop__resource_request_proto__init(ask);
	ask->priority = priority_of(number);
	ask->resource_name = (char *)"*";
	ask->capability = &kind->resource;
	ask->has_num_containers = ask->has_relax_locality = ask->has_allocation_request_id = true;
	ask->num_containers = kind->wanted;
	ask->relax_locality = true;
	ask->node_label_expression = (char *)kind->is->node_label;
	ask->allocation_request_id = (int64_t)number + 1;
	request->ask = mem_realloc_array(request->ask, request->n_ask + 1, sizeof(ask));
	request->ask[request->n_ask++] = ask;
	kind->told = kind->wanted;
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
	ask->placementconstraint = (Hadoop__PlacementConstraintProto *)kind->is->placement;
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
			drop_single(kind, i);
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
		else if (kind->wanted != kind->told)
			add_ask(request, kind, i);
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
