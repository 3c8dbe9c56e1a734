#include <stdlib.h>

#include "base/mem.h"
#include "hadoop/asks_internal.h"
#include "hadoop/id.h"
#include "hadoop/message.h"

/* Ids of single SchedulingRequests; below are the kinds' own. */
#define FIRST_SINGLE_ID INT64_C(1000000)

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
		amounts[i].units = "";
		resource->resource_value_map[i] = &amounts[i];
	}
}

/* Said, though guaranteed is the default: a ResourceManager on which opportunistic containers are
 * enabled throws at a request without it. */
static void set_execution_type(Hadoop__ExecutionTypeRequestProto *type, bool is_opportunistic)
{
	hadoop__execution_type_request_proto__init(type);
	type->has_execution_type = type->has_enforce_execution_type = true;
	type->execution_type = is_opportunistic ? HADOOP__EXECUTION_TYPE_PROTO__OPPORTUNISTIC
						: HADOOP__EXECUTION_TYPE_PROTO__GUARANTEED;
	type->enforce_execution_type = is_opportunistic;
}

/*
 * A ResourceManager compares the SchedulingRequest that cancels another with that one, and throws
 * at a field that either lacks. So there is a constraint always: an "and" of nothing holds on all
 * nodes.
 */
static void set_placement(struct kind *kind)
{
	hadoop__placement_constraint_proto__init(&kind->placement);
	hadoop__composite_placement_constraint_proto__init(&kind->nothing);
	kind->nothing.compositetype = HADOOP__PLACEMENT_COMPOSITE_TYPE_PROTO__COMPOSITE_AND;
	if (kind->is->placement)
		kind->placement = *kind->is->placement;
	else
		kind->placement.compositeconstraint = &kind->nothing;
}

static void free_resource(Hadoop__ResourceProto *resource)
{
	free(resource->resource_value_map[resource->n_resource_value_map]);
	free(resource->resource_value_map);
}

struct asks *asks_create(const struct container_kind *kinds, size_t count,
			 const struct str_list *nodes, const struct str_list *racks)
{
	struct asks *asks = mem_alloc(sizeof(*asks));

	asks->kinds = mem_alloc_array(count, sizeof(*asks->kinds));
	asks->kind_count = count;
	asks->nodes = nodes;
	asks->racks = racks;
	asks->next_id = FIRST_SINGLE_ID;
	asks->releases = map_create(free_release);
	asks->hosts = map_create(free);
	for (size_t i = 0; i < count; i++) {
		struct kind *kind = &asks->kinds[i];
		kind->is = &kinds[i];
		kind->is_single = kinds[i].placement || (kinds[i].tags && kinds[i].tags->count > 0);
		set_resource(&kind->resource, &kinds[i]);
		set_execution_type(&kind->execution_type, kinds[i].is_opportunistic);
		set_placement(kind);
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

void asks_drop_single(struct kind *kind, size_t index)
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
			asks_drop_single(kind, i);
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
	asks->names_nodes = asks->nodes->count > 0 && asks_open(asks) > (int64_t)asks->nodes->count;
	asks->changed = true;
}

void asks_forget_nodes(struct asks *asks)
{
	asks->names_nodes = false;
	for (size_t i = 0; i < asks->kind_count; i++)
		asks->changed = asks->changed || asks->kinds[i].named;
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
		asks_drop_single(kind, i);
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
				asks_drop_single(kind, k);
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
