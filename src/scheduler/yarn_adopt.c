/*
 * Containers that YARN kept for this job when the AM before was lost. The journal tells which it
 * had; the ResourceManager tells at registration which of them run, and soon after how others have
 * ended. What it says nothing of for a while is gone; what nobody knows is given back.
 *
 * What is told at registration is told once, tokens for the nodes among it. Where that was lost,
 * the journal is believed: an end will still be told, and who is mute misses its beats. Without a
 * token the ResourceManager ends a container, as where a NodeManager does not.
 */
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/timer.h"
#include "hadoop/id.h"
#include "hadoop/message.h"
#include "scheduler/yarn_internal.h"

/* A ResourceManager that was itself started anew hears of containers from their nodes. */
enum { UNHEARD_MS = 10000 };

/* As far as the journal tells: not the port of the NodeManager. */
static Hadoop__ContainerProto *describe(const struct scheduler_adoption *item)
{
	Hadoop__ContainerProto proto = HADOOP__CONTAINER_PROTO__INIT;
	Hadoop__NodeIdProto node = HADOOP__NODE_ID_PROTO__INIT;
	Hadoop__ContainerIdProto *id = hadoop_container_id_parse(item->container);

	node.host = (char *)(item->host ? item->host : "");
	proto.id = id;
	proto.nodeid = &node;
	Hadoop__ContainerProto *copy = id ? message_copy(&proto.base) : NULL;
	message_free(id);
	return copy;
}

void yarn_adopt(struct scheduler *scheduler, const struct scheduler_adoption *items, size_t count)
{
	struct yarn *yarn = (struct yarn *)scheduler;

	yarn->follows = true;
	for (size_t i = 0; i < count; i++) {
		struct yarn_container *container = yarn_container_create(yarn, &items[i].request);
		container->state = YARN_LAUNCHED;
		container->told = container->is_awaited = true;
		container->is_reachable = items[i].is_reachable;
		container->id = mem_strdup(items[i].container);
		container->proto = describe(&items[i]);
		map_set(yarn->containers, container->id, container);
	}
	log_info("adopted %zu container%s", count, str_plural(count));
}

/* Nobody can tell its executor where this AM is: it will leave, sooner or later. */
static void give_up(struct yarn_container *container)
{
	cause_set(&container->cause, CAUSE_EXECUTOR_LOST,
		  mem_strdup("had not registered when the application master was lost"));
	application_master_release(container->yarn->master, container->proto->id);
	yarn_container_end(container);
}

static void inherit(struct yarn_container *container)
{
	container->is_awaited = false;
	if (container->is_unwanted)
		yarn_container_release(container, container->grace_ms);
	else if (!container->is_reachable)
		give_up(container);
}

void yarn_inherit(struct yarn *yarn, const Hadoop__ContainerProto *proto)
{
	struct yarn_container *container = yarn_find_by_id(yarn, proto->id);

	if (!container) {
		application_master_release(yarn->master, proto->id);
		return;
	}
	if (!container->is_awaited)
		return;
	message_free(container->proto);
	container->proto = message_copy(&proto->base);
	inherit(container);
}

static void for_awaited(struct yarn *yarn, void (*act)(struct yarn_container *container))
{
	for (size_t i = 0; i < yarn->task_count; i++) {
		struct yarn_container *container = yarn->tasks[i];
		for (; container; container = container->older)
			if (container->is_awaited)
				act(container);
	}
}

static void inherit_known(struct yarn_container *container)
{
	if (container->proto)
		inherit(container);
}

void yarn_inherit_all(struct yarn *yarn)
{
	for_awaited(yarn, inherit_known);
}

static void be_gone(struct yarn_container *container)
{
	container->is_awaited = false;
	cause_set(&container->cause, CAUSE_EXECUTOR_LOST,
		  mem_strdup("ended while there was no application master"));
	yarn_container_end(container);
}

static void on_unheard(evutil_socket_t fd, short what, void *data)
{
	for_awaited(data, be_gone);
}

void yarn_await_inheritance(struct yarn *yarn)
{
	yarn->unheard = evtimer_new(yarn->base, on_unheard, yarn);
	timer_start(yarn->unheard, UNHEARD_MS);
}
