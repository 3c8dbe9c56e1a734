/* What an application master has to say to the ResourceManager, and what of it was said: asks,
 * releases, hosts to avoid. No I/O. Part of application_master.h. */
#ifndef TONY_HADOOP_ASKS_H
#define TONY_HADOOP_ASKS_H

#include "hadoop/application_master.h"

struct asks;

/* `nodes`, `racks`: hosts of the cluster and where they stand; both empty, or both not. All is
 * borrowed. */
struct asks *asks_create(const struct container_kind *kinds, size_t count,
			 const struct str_list *nodes, const struct str_list *racks);
void asks_destroy(struct asks *asks);

void asks_want(struct asks *asks, size_t kind, int32_t count);
int32_t asks_wanted(const struct asks *asks, size_t kind);
int64_t asks_open(const struct asks *asks); /* of all kinds */
void asks_release(struct asks *asks, const Hadoop__ContainerIdProto *container);
void asks_avoid(struct asks *asks, const char *host, bool avoid);

/* Nodes were named, and what is wanted did not come: from now on it may come from anywhere. */
void asks_forget_nodes(struct asks *asks);

/* A container came: its kind, or -1 when none of that kind is wanted (any more). */
int64_t asks_take(struct asks *asks, const Hadoop__ContainerProto *container);
/* It ended: its release needs no repetition. */
void asks_forget(struct asks *asks, const Hadoop__ContainerIdProto *container);
/* A SchedulingRequest came back: it is sent once more. */
void asks_rejected(struct asks *asks, const Hadoop__SchedulingRequestProto *request);

/* There is something that was not said yet. */
bool asks_changed(const struct asks *asks);
/* The other side knows nothing (any more): all of it is to be said. */
void asks_repeat(struct asks *asks);
/* Nothing is wanted any more, and the other side knows of no ask. */
void asks_drop(struct asks *asks);
/* What was to be released is taken as said: the other side does not know such a container. */
void asks_drop_releases(struct asks *asks);

/* Fills in the request what was not said yet, and takes it as said. What it points to is freed by
 * asks_sent(). */
void asks_fill(struct asks *asks, Hadoop__AllocateRequestProto *request);
void asks_sent(Hadoop__AllocateRequestProto *request);

#endif
