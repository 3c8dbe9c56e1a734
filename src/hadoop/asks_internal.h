/* Shared by asks.c, what is wanted, and asks_request.c, how that is said. */
#ifndef TONY_HADOOP_ASKS_INTERNAL_H
#define TONY_HADOOP_ASKS_INTERNAL_H

#include "base/map.h"
#include "hadoop/asks.h"

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
	bool named;	/* it was told nodes, too */
	Hadoop__ResourceProto resource;
	Hadoop__ExecutionTypeRequestProto execution_type;
	Hadoop__PlacementConstraintProto
		placement; /* of singles; any node unless the kind has one */
	Hadoop__CompositePlacementConstraintProto nothing;
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
	const struct str_list *nodes, *racks;
	bool names_nodes; /* what is asked for now */
	bool changed;
};

void asks_drop_single(struct kind *kind, size_t index); /* the last one takes its place */

#endif
